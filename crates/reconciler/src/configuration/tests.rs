use jiff::Timestamp;

use super::*;

fn parse(text: &str) -> Result<Configuration, Error> {
    Configuration::parse(text, Path::new("/etc/slipway/controller.toml"), Path::new("/etc/slipway"))
}

const COMPLETE: &str = include_str!("../../examples/controller.toml");

#[test]
fn the_complete_example_is_read() {
    let read = parse(COMPLETE).unwrap();
    let git = read.sources[0].git.as_ref().unwrap();
    assert_eq!(git.reference(), Reference::Branch("main".to_owned()));
    assert_eq!(git.token_file.as_deref(), Some(Path::new("/etc/slipway/token")));
    let policy = |cluster: &str| read.sources[0].policy(cluster);
    assert_eq!(policy("prod-eu").apply, Apply::Approved);
    assert_eq!(policy("dev-1").apply, Apply::Always);
    assert_eq!(policy("other").apply, Apply::Never, "no name fits");
    let flux = read.sources[1].flux.as_ref().unwrap();
    assert_eq!(flux.kubeconfig.as_deref(), Some(Path::new("/etc/slipway/flux.kubeconfig")));
    let kubernetes = read.kubernetes.as_ref().and_then(|kubernetes| kubernetes.kubeconfig.as_deref());
    assert_eq!(kubernetes, Some(Path::new("/etc/slipway/kubernetes.kubeconfig")));
    assert_eq!(read.sources[2].folder.as_deref(), Some(Path::new("/srv/specs")));
    assert_eq!(read.retry.longest, Duration::from_secs(600));
    assert_eq!(read.webhooks.map(|webhooks| webhooks.listen.port()), Some(9465));
    let webhook = read.sources[0].webhook.as_ref().unwrap();
    assert_eq!(webhook.kind, WebhookKind::Gitea);
    assert_eq!(read.notifications[0].url_file.as_deref(), Some(Path::new("/etc/slipway/slack-url")));
    assert!(
        read.notifications[0].wants("prod-eu", "Failed") && !read.notifications[0].wants("dev-1", "Failed")
    );
    let reviews = read.sources[0].pull_requests.as_ref().unwrap();
    assert_eq!(reviews.token_file, Path::new("/etc/slipway/forge-token"));
    assert_eq!(reviews.approvals(&policy("prod-eu")).people, ["grace"]);
    assert_eq!(webhook.secret_file, Path::new("/etc/slipway/webhook-secret"));
    assert_eq!((policy("dev-1").wave, policy("prod-eu").wave), (0, 1));
    let waves = read.sources[0].waves;
    assert_eq!((waves.max_at_once, waves.soak), (Some(2), Duration::from_secs(600)));
    assert!(read.sources[0].is_ordered() && !read.sources[1].is_ordered());
}

#[test]
fn an_order_over_several_sources_is_read() {
    let refused = parse(
        "data = 'd'
[[source]]
name = 'platform'
folder = 'p'
trust = {}
[[source.cluster]]
name = 'management'
apply = 'always'
[[source]]
name = 'tenants'
folder = 't'
trust = {}
[[source.cluster]]
name = 'canary'
apply = 'always'
after = ['management']
[[source.cluster]]
name = '*'
apply = 'always'
after = ['canary', 'man*']
wave = -1
",
    )
    .expect_err("the canary is in a later wave");
    assert!(refused.to_string().contains("wait for each other"), "{refused}");
    let text = "data = 'd'
[[source]]
name = 'platform'
folder = 'p'
[[source.cluster]]
name = 'management'
apply = 'never'
[[source]]
name = 'tenants'
folder = 't'
[[source.cluster]]
name = 'canary'
apply = 'never'
after = ['management']
[[source.cluster]]
name = '*'
apply = 'never'
after = ['canary', 'man*']
wave = 2
";
    let read = parse(text).unwrap();
    assert!(read.sources[1].is_ordered());
    assert_eq!(read.sources[1].first_wave(), 0);
    assert_eq!(read.sources[1].policy("eu").after, ["canary", "man*"]);
    assert!(read.sources[1].rule("eu").is_some() && read.sources[0].rule("eu").is_none());
}

#[test]
fn mistakes_are_refused_with_their_place() {
    let source = |lines: &str| format!("data = 'd'\n[[source]]\nname = 's'\n{lines}\n");
    let trusted =
        |lines: &str| source(&format!("folder = 'f'\ntrust = {{}}\n[[source.cluster]]\nname = '*'\n{lines}"));
    let git = |lines: &str| source(&format!("[source.git]\n{lines}"));
    let flux = |table: &str| source(&format!("flux = {{ {table} }}"));
    let reviews = |of_git: &str, lines: &str| {
        git(&format!("{of_git}\n[source.pull-requests]\ntoken-file = 't'\n{lines}"))
    };
    let of = |repository: &str| {
        reviews("url = 'https://a/b'", &format!("forge = 'github'\nrepository = '{repository}'"))
    };
    let other = of("A/B").replace("data = 'd'\n", "").replace("name = 's'", "name = 'other'");
    // The usual address, written out.
    let reviewed_twice = format!("{}{other}url = 'https://GitHub.com:443/'\n", of("a/b"));
    let notification = |lines: &str| {
        source(&format!("folder = 'f'\n[[notification]]\nname = 'ops'\nkind = 'json'\n{lines}"))
    };
    let two = |first: &str, second: &str| {
        let rule = |name: &str, lines: &str| {
            format!("[[source.cluster]]\nname = '{name}'\napply = 'never'\n{lines}\n")
        };
        source(&format!("folder = 'f'\n{}{}", rule("a-*", first), rule("b", second)))
    };
    for (text, part) in [
        ("data = 'd'\n".to_owned(), "source"),
        (source("folder = 'f'\ncolour = 'red'"), "colour"),
        (source(""), "one of `folder`, `git`, `bucket`, `oci`, `flux` and `object`"),
        (source("folder = 'f'\npaths = ['../x']"), "not a path inside"),
        (source("folder = 'f'\npaths = ['a/.git']"), "not a path inside"),
        (source("folder = 'f'\npaths = ['*']"), "has a `*`"),
        (
            source("folder = 'f'\n[[source.cluster]]\nname = '*'\napply = 'always'"),
            "needs the section `trust`",
        ),
        (notification("url = 'http://example.com/x'"), "not encrypted"),
        (notification("url = 'https://a'\nurl-file = 'f'"), "one of `url` and `url-file`"),
        (notification("url = 'https://a'\nreasons = ['Applying']"), "`Applying`, which is no reason"),
        (notification("url = 'https://a'\ntemplate = '{secret}'"), "the field `secret`"),
        (source("oci = { url = 'https://a/b' }"), "begins with oci://"),
        (source("oci = { url = 'oci://a/b', tag = 'x', digest = 'sha256:y' }"), "one of `tag` and `digest`"),
        (source("oci = { url = 'oci://a/b', digest = 'sha256:y' }"), "64 hexadecimal digits"),
        (source("oci = { url = 'oci://a/b', tag = '../x' }"), "is no tag"),
        (source("oci = { url = 'oci://a/b', username = 'x' }"), "need each other"),
        (flux("namespace = 'a', name = 'b', kind = 'HelmChart'"), "HelmChart"),
        (flux("namespace = 'a/b', name = 'b', kind = 'GitRepository'"), "`flux.namespace`"),
        (flux("namespace = 'a', name = '../b', kind = 'GitRepository'"), "`flux.name`"),
        (
            flux("namespace = 'a', name = 'b', kind = 'GitRepository', artifact-hosts = ['http://c/']"),
            "`flux.artifact-hosts`",
        ),
        (source("bucket = { url = 'specs' }"), "names no bucket"),
        (source("bucket = { url = 's3:/specs' }"), "s3://specs"),
        (source("bucket = { url = 'gs://specs', region = 'x' }"), "do not belong to gs://"),
        (
            source("folder = 'f'\nbucket = { url = 's3://specs' }"),
            "one of `folder`, `git`, `bucket`, `oci`, `flux` and `object`",
        ),
        (git("url = 'http://git.example.com/a'"), "names this machine only"),
        (
            source(
                "folder = 'f'\n[source.pull-requests]\nforge = 'github'\nrepository = 'a/b'\ntoken-file = 't'",
            ),
            "needs `git`",
        ),
        (
            reviews("url = 'https://a/b'\ntag = 'v1'", "forge = 'github'\nrepository = 'a/b'"),
            "needs a `branch`",
        ),
        (reviews("url = 'https://a/b'", "forge = 'gitea'\nrepository = 'a/b'"), "needs the `url`"),
        (
            reviews("url = 'https://a/b'", "forge = 'github'\nrepository = 'b'"),
            "not the name of a repository",
        ),
        (
            reviews("url = 'https://a/b'", "forge = 'github'\nrepository = 'a/b'\nwith = ['../x']"),
            "not a path inside",
        ),
        (
            reviews(
                "url = 'https://a/b'",
                "forge = 'github'\nrepository = 'a/b'\nforks = { plan = 'maybe' }",
            ),
            "maybe",
        ),
        (reviewed_twice, "which reviews them already"),
        (trusted("apply = 'sometimes'"), "sometimes"),
        (trusted("apply = 'always'\napprovals = 2"), "belong to"),
        (trusted("apply = 'approved'\napprovals = 0"), "at least 1"),
        (trusted("apply = 'always'\ntime-zone = 'Mars/Base'"), "Mars/Base"),
        (trusted("apply = 'always'\nwindows = [{cron = '61 * * * *', lasts = '1h'}]"), "61 * * * *"),
        (trusted("apply = 'always'\nwindows = [{cron = '1 * * * *', lasts = '0s'}]"), "lasts no time"),
        (
            trusted("apply = 'always'\nfreezes = [{from = '2026-02-02', until = '2026-02-01'}]"),
            "before it begins",
        ),
        (trusted("apply = 'always'\nafter = ['dev']"), "of the rule itself"),
        (two("after = ['c']", ""), "no rule is for such clusters"),
        (two("after = ['b']", "after = ['a-1']"), "wait for each other: a-* after b after a-*"),
        (two("after = ['b']", "wave = 1"), "wait for each other"),
        (two("after = ['a-*']", ""), "of the rule itself"),
        (source("folder = 'f'\nplan-timeout = '0s'"), "`plan-timeout`"),
        (source("folder = 'f'\nwaves = { max-at-once = 0 }"), "`waves.max-at-once`"),
        (source("folder = 'f'\nwaves = { soak = '1m' }"), "more than one `wave`"),
        (git("url = 'http://a/b'"), "names this machine only"),
        (git("url = 'ext::sh -c id'"), "characters"),
        (git("url = 'https://me:secret@a/b'"), "no credentials"),
        (git("url = 'ssh://-oProxyCommand=id/b'"), "no server"),
        (git("url = 'ssh://git@a/b'"), "needs `identity-file`"),
        (git("url = 'https://a/b'\nidentity-file = 'k'"), "belong to ssh://"),
        (git("url = 'https://a/b'\nbranch = '--upload-pack=id'"), "not the name"),
        (git("url = 'https://a/b'\nbranch = 'a..b'"), "not the name"),
        (git("url = 'https://a/b'\nbranch = 'a'\ntag = 'b'"), "one of"),
        (git("url = 'https://a/b'\ncommit = 'abc'"), "40 or 64"),
        (git("url = 'https://a/b'\nsignatures = {}"), "allowed-signers"),
        (git("url = 'https://a/b'\nsignatures = { gpg-home = 'g', on = 'tag' }"), "need a `tag`"),
        (format!("name = 'a/b'\n{}", source("folder = 'f'")), "`name`"),
        (format!("poll = '1ms'\n{}", source("folder = 'f'")), "`poll`"),
        (
            source("object = { namespace = 'a', name = 'b', urls = ['https://a/*'] }"),
            "`object` needs the table `[kubernetes]`",
        ),
        (source("object = { namespace = 'a', name = 'b', urls = [] }"), "at least one URL"),
        (
            format!("kubernetes = {{ namespace = 'A' }}\n{}", source("folder = 'f'")),
            "kubernetes: `namespace`",
        ),
    ] {
        let error = parse(&text).expect_err(&text);
        let problem = crate::status::Problem::of_source(&error);
        assert!(problem.message.contains(part), "no `{part}` in `{}`", problem.message);
        assert!(matches!(error.code(), "RECON0001" | "RECON0002"));
    }
}

#[test]
fn mistakes_about_webhooks_are_refused_with_place_and_hint() {
    let source = |lines: &str| format!("data = 'd'\n[[source]]\nname = 's'\n{lines}\n");
    let hooked = |table: &str, lines: &str| {
        let webhook = "webhook = { kind = 'github', secret-file = 's' }";
        format!("{table}\n{}", source(&format!("{webhook}\n{lines}")))
    };
    for (text, part) in [
        (hooked("", "folder = 'f'"), "source s: `webhook` needs the table `[webhooks]`"),
        (
            format!("webhooks = {{ listen = '127.0.0.1:1' }}\n{}", source("folder = 'f'")),
            "webhooks: no source has a `webhook`",
        ),
        (
            hooked("webhooks = { listen = '127.0.0.1:9464' }", "folder = 'f'"),
            "webhooks: `listen` is 127.0.0.1:9464, the address of health",
        ),
        (
            hooked(
                "webhooks = { listen = '127.0.0.1:1' }",
                "git = { url = 'https://a/b', commit = '0123456789012345678901234567890123456789' }",
            ),
            "source s: `webhook` has no effect",
        ),
        (hooked("webhooks = { listen = 'here' }", "folder = 'f'"), "socket address"),
        (hooked("webhooks = {}", "folder = 'f'"), "listen"),
        (
            source("folder = 'f'\nwebhook = { kind = 'svn', secret-file = 's' }"),
            "`github`, `gitlab`, `gitea`",
        ),
        (source("folder = 'f'\nwebhook = { kind = 'gitea' }"), "secret-file"),
        (source("folder = 'f'\nwebhook = { kind = 'gitea', secret-file = 's', url = 'u' }"), "url"),
    ] {
        let error = parse(&text).expect_err(&text);
        let problem = crate::status::Problem::of_source(&error);
        assert!(problem.message.contains(part), "no `{part}` in `{}`", problem.message);
        assert!(!problem.hints.is_empty(), "no hint: {}", problem.message);
    }
}

#[test]
fn waits_double_up_to_the_longest_and_vary() {
    let retry = Retry { first: Duration::from_secs(10), longest: Duration::from_secs(600) };
    for (failures, seconds) in [(1, 10.0), (2, 20.0), (4, 80.0), (7, 600.0), (1_000, 600.0)] {
        let wait = retry.wait(failures, "prod").as_secs_f64();
        assert!((seconds * 0.79..seconds * 1.21).contains(&wait), "{failures}: {wait}");
    }
    assert_ne!(retry.wait(3, "prod"), retry.wait(3, "test"));
    assert_eq!(retry.wait(3, "prod"), retry.wait(3, "prod"));
}

#[test]
fn windows_open_by_the_clock_of_their_time_zone() {
    let policy = ClusterPolicy {
        time_zone: "Europe/Berlin".to_owned(),
        windows: vec![Window { cron: "0 22 * * MON-FRI".to_owned(), lasts: Duration::from_secs(2 * 3600) }],
        freezes: vec![Freeze {
            from: "2026-12-20".parse().unwrap(),
            until: "2027-01-03".parse().unwrap(),
            reason: Some("holidays".to_owned()),
        }],
        ..ClusterPolicy::unnamed()
    };
    let schedule = Schedule::of(&policy).unwrap();
    let at = |text: &str| schedule.at(text.parse::<Timestamp>().unwrap());
    // 22:00 in Berlin is 21:00 UTC in winter, and 20:00 in summer. 2026-11-26 is a Thursday.
    assert_eq!(at("2026-11-26T20:59:59Z"), Opening::Closed(Some("2026-11-26T21:00:00Z".parse().unwrap())));
    assert_eq!(at("2026-11-26T21:00:00Z"), Opening::Open);
    assert_eq!(at("2026-11-26T22:59:59Z"), Opening::Open, "also after midnight in Berlin");
    assert_eq!(at("2026-11-26T23:00:00Z"), Opening::Closed(Some("2026-11-27T21:00:00Z".parse().unwrap())));
    assert_eq!(at("2026-07-02T20:30:00Z"), Opening::Open);
    assert_eq!(at("2026-11-28T21:30:00Z"), Opening::Closed(Some("2026-11-30T21:00:00Z".parse().unwrap())));
    let end = Some("2027-01-03T23:00:00Z".parse().unwrap());
    assert_eq!(at("2026-12-21T21:30:00Z"), Opening::Frozen(end, Some("holidays".to_owned())));
    assert_eq!(at("2026-12-19T22:59:59Z"), Opening::Closed(Some("2026-12-21T21:00:00Z".parse().unwrap())));
    let always = Schedule::of(&ClusterPolicy::unnamed()).unwrap();
    assert_eq!(always.at(Timestamp::UNIX_EPOCH), Opening::Open);
}
