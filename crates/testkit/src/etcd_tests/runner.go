package common

import (
	"go.etcd.io/etcd/tests/v3/framework/config"
	"go.etcd.io/etcd/tests/v3/framework/integration"
)

func init() {
	testRunner = integration.NewExternalRunner()
	clusterTestCases = func() []testCase {
		return []testCase{{name: "External", config: config.ClusterConfig{ClusterSize: 1}}}
	}
}

func WithAuth(name, password string) config.ClientOption { return integration.WithAuth(name, password) }

func WithEndpoints(endpoints []string) config.ClientOption {
	return integration.WithEndpoints(endpoints)
}
