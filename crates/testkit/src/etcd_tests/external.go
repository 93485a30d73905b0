package integration

import (
	"context"
	"os"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/tests/v3/framework/config"
	intf "go.etcd.io/etcd/tests/v3/framework/interfaces"
)

// The runner of an etcd that runs already. Its URL and the files of its clients are variables.
type externalRunner struct{}

func NewExternalRunner() intf.TestRunner { return externalRunner{} }

func (externalRunner) TestMain(m *testing.M) { os.Exit(m.Run()) }

func (externalRunner) BeforeTest(testing.TB) {}

func (externalRunner) NewCluster(ctx context.Context, t testing.TB, _ ...config.ClusterOption) intf.Cluster {
	cluster := &externalCluster{t: t}
	client, err := cluster.Client()
	if err != nil {
		t.Fatal(err)
	}
	// A new etcd has no event at its first revision. The tests watch no key of this name.
	if err := client.Put(ctx, "~", "", config.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	found, err := client.Delete(ctx, "~", config.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cluster.more = found.Header.Revision - 1
	return cluster
}

type externalCluster struct {
	t       testing.TB
	clients []*clientv3.Client
	// What the revisions of a new etcd, which the tests name, are higher here.
	more int64
}

func (c *externalCluster) Endpoints() []string { return []string{os.Getenv("ETCD_URL")} }

func (c *externalCluster) WaitLeader(testing.TB) int { return 0 }

func (c *externalCluster) Members() []intf.Member { return []intf.Member{externalMember{c}} }

func (c *externalCluster) Client(options ...config.ClientOption) (intf.Client, error) {
	settings := clientv3.Config{Endpoints: c.Endpoints()}
	for _, option := range options {
		option(&settings)
	}
	info := transport.TLSInfo{
		TrustedCAFile: os.Getenv("ETCD_CA"), CertFile: os.Getenv("ETCD_CERT"), KeyFile: os.Getenv("ETCD_KEY"),
	}
	var err error
	if settings.TLS, err = info.ClientConfig(); err != nil {
		return nil, err
	}
	client, err := clientv3.New(settings)
	if err != nil {
		return nil, err
	}
	c.clients = append(c.clients, client)
	return externalClient{integrationClient{Client: client}, c.more}, nil
}

type externalClient struct {
	integrationClient
	more int64
}

func (c externalClient) Get(ctx context.Context, key string, o config.GetOptions) (*clientv3.GetResponse, error) {
	if o.Revision > 0 {
		o.Revision += int(c.more)
	}
	return c.integrationClient.Get(ctx, key, o)
}

func (c externalClient) Compact(ctx context.Context, revision int64, o config.CompactOption) (*clientv3.CompactResponse, error) {
	return c.integrationClient.Compact(ctx, revision+c.more, o)
}

func (c externalClient) Watch(ctx context.Context, key string, o config.WatchOptions) clientv3.WatchChan {
	if o.Revision > 0 {
		o.Revision += c.more
	}
	return c.integrationClient.Watch(ctx, key, o)
}

// Close leaves an empty etcd to the next test.
func (c *externalCluster) Close() error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	etcd := client.(externalClient)
	if _, err := etcd.Client.Delete(context.Background(), "\x00", clientv3.WithFromKey()); err != nil {
		return err
	}
	leases, err := etcd.Client.Leases(context.Background())
	if err != nil {
		return err
	}
	for _, lease := range leases.Leases {
		_, _ = etcd.Client.Revoke(context.Background(), lease.ID)
	}
	for _, client := range c.clients {
		_ = client.Close()
	}
	return nil
}

// The members of the core are not those of a tenant.
type externalMember struct{ cluster *externalCluster }

func (m externalMember) Client() intf.Client {
	client, err := m.cluster.Client()
	if err != nil {
		m.cluster.t.Fatal(err)
	}
	return client
}

func (m externalMember) Start(context.Context) error { m.Stop(); return nil }

func (m externalMember) Stop() { m.cluster.t.Skip("a tenant has no members") }
