use std::fs;
use std::os::unix::fs::symlink;

use super::*;

fn at(folder: &Path, mode: Mode, arguments: &[&str]) -> Policy {
    let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
    let settings = Settings::default().with_arguments(&arguments).unwrap();
    // The home directory is beside the checkout, and in the folder around it.
    let around = if folder.ends_with("repo") { folder.parent().unwrap() } else { folder };
    Policy {
        home: Some(around.join("home")),
        working: Some(folder.to_owned()),
        ..Policy::new(settings, mode)
    }
}

/// A checkout with a spec, beside a secret and a home directory.
fn checkout() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir_all(at("repo/specs")).unwrap();
    fs::create_dir_all(at("home/.ssh")).unwrap();
    for file in ["repo/specs/a.yaml", "repo/more.yaml", "secret", "home/.ssh/id"] {
        fs::write(at(file), file).unwrap();
    }
    folder
}

#[test]
fn files_are_in_the_spec_s_own_folders() {
    let folder = checkout();
    let repo = folder.path().join("repo");
    symlink("../../secret", repo.join("specs/link.yaml")).unwrap();
    symlink("a.yaml", repo.join("specs/inner.yaml")).unwrap();
    for mode in [Mode::Own, Mode::Untrusted] {
        let policy = at(&repo, mode, &[]);
        let tree = policy.tree(&[repo.join("specs/a.yaml")]);
        let code = |path: &Path| policy.file(&tree, "the file", path).err().map(|refusal| refusal.code());
        assert_eq!(code(&repo.join("specs/a.yaml")), None);
        assert_eq!(code(&repo.join("specs/inner.yaml")), None);
        assert_eq!(code(&repo.join("specs/link.yaml")), Some("TRUST0002"));
        assert_eq!(code(&folder.path().join("secret")), Some("TRUST0001"));
        assert_eq!(code(&repo.join("specs/../../secret")), Some("TRUST0001"));
        // The hint has a path that can be used as it is.
        let refusal = policy.file(&tree, "the file", Path::new("../elsewhere/base")).err().unwrap();
        let meant = std::env::current_dir().unwrap().parent().unwrap().join("elsewhere/base");
        let hint = refusal.hint();
        assert!(hint.contains(&format!("--trust file-root={}`", meant.display())), "{hint}");
        // The working directory is around the caller's own spec.
        let around = (mode == Mode::Untrusted).then_some("TRUST0001");
        assert_eq!(code(&repo.join("more.yaml")), around);
        let key = policy.identity_file(&tree, &folder.path().join("home/.ssh/id"));
        assert_eq!(key.is_ok(), mode == Mode::Own);
    }
    let allowed = format!("file-root={}", folder.path().display());
    let policy = at(&repo, Mode::Untrusted, &[&allowed]);
    let tree = policy.tree(&[repo.join("specs/a.yaml")]);
    let file = policy.file(&tree, "the file", &repo.join("specs/link.yaml")).unwrap();
    assert_eq!(file.read_text(slipway_limits::size::SPEC).unwrap(), "secret");
}

#[test]
fn a_spec_from_standard_input_has_no_folder() {
    let folder = checkout();
    let repo = folder.path().join("repo");
    let input = PathBuf::from("-");
    for mode in [Mode::Own, Mode::Untrusted] {
        let policy = at(&repo, mode, &[]);
        let tree = policy.tree(std::slice::from_ref(&input));
        let code = |path: &Path| policy.file(&tree, "the file", path).err().map(|refusal| refusal.code());
        assert_eq!(code(&repo.join("more.yaml")), Some("TRUST0001"), "{mode:?}");
        assert_eq!(code(&repo.join("specs/a.yaml")), Some("TRUST0001"), "{mode:?}");
        // The folders of specs beside it, and those that the caller allows, count.
        let both = policy.tree(&[input.clone(), repo.join("specs")]);
        assert!(policy.file(&both, "the file", &repo.join("specs/a.yaml")).is_ok(), "{mode:?}");
    }
    let allowed = format!("file-root={}", repo.display());
    let policy = at(&repo, Mode::Untrusted, &[&allowed]);
    let tree = policy.tree(&[input]);
    assert!(policy.file(&tree, "the file", &repo.join("more.yaml")).is_ok());
}

#[test]
fn a_folder_that_is_a_link_out_of_the_working_directory_is_not_followed() {
    let folder = checkout();
    let repo = folder.path().join("repo");
    symlink("../home", repo.join("linked")).unwrap();
    for mode in [Mode::Own, Mode::Untrusted] {
        let policy = at(&repo, mode, &[]);
        let tree = policy.tree(&[repo.join("linked")]);
        let refused = policy.spec(&tree, &repo.join("linked/.ssh/id")).unwrap_err();
        assert_eq!(refused.code(), "TRUST0002", "{mode:?}");
    }
}

#[test]
fn a_home_directory_is_nobody_s_tree() {
    let folder = checkout();
    let home = folder.path().join("home");
    fs::write(home.join("a.yaml"), "").unwrap();
    fs::create_dir(home.join("specs")).unwrap();
    let policy = Policy { working: Some(home.clone()), ..at(folder.path(), Mode::Own, &[]) };
    let tree = policy.tree(&[home.join("specs/a.yaml")]);
    assert!(policy.file(&tree, "the file", &home.join(".ssh/id")).is_err());
}

#[test]
fn what_has_become_a_link_or_a_pipe_is_not_opened() {
    let folder = checkout();
    let repo = folder.path().join("repo");
    let policy = at(&repo, Mode::Own, &[]);
    let file =
        policy.file(&policy.tree(std::slice::from_ref(&repo)), "the file", &repo.join("more.yaml")).unwrap();
    fs::remove_file(repo.join("more.yaml")).unwrap();
    symlink("../secret", repo.join("more.yaml")).unwrap();
    assert!(file.open().is_err());
    fs::remove_file(repo.join("more.yaml")).unwrap();
    let pipe = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, repo.join("more.yaml"), pipe, 0o600.into(), 0).unwrap();
    let error = file.open().unwrap_err();
    let expected = slipway_limits::Exceeded::NotAFile { kind: "a named pipe" };
    assert_eq!(slipway_limits::Exceeded::of(&error), Some(&expected), "{error}");
}

#[test]
fn credentials_of_the_caller_are_no_secrets_of_a_spec() {
    let folder = checkout();
    let own = at(folder.path(), Mode::Own, &["variable=AWS_APP_*"]);
    assert!(own.variable("DATABASE_PASSWORD").is_ok() && own.variable("AWS_APP_KEY").is_ok());
    for name in ["AWS_SECRET_ACCESS_KEY", "SLIPWAY_PASSPHRASE", "GITHUB_TOKEN", "KUBECONFIG"] {
        assert_eq!(own.variable(name).unwrap_err().code(), "TRUST0003", "{name}");
    }
    let untrusted = at(folder.path(), Mode::Untrusted, &["variable=*"]);
    assert_eq!(untrusted.variable("DATABASE_PASSWORD").unwrap_err().code(), "TRUST0004");
}

#[test]
fn endpoints_hosts_and_urls_lead_to_servers() {
    let folder = checkout();
    let own = at(folder.path(), Mode::Own, &["endpoint=https://aws.test"]);
    for (url, gets_credentials, good) in [
        ("https://aws.test", true, true),
        ("https://aws.test.evil", true, false),
        ("http://127.0.0.1:5000", true, true),
        ("https://evil.test", true, false),
        ("https://api.test:6443", false, true),
        ("http://api.test", false, false),
        ("https://169.254.169.254", false, false),
        ("https://168.63.129.16", false, false),
        ("https://[64:ff9b::a9fe:a9fe]", false, false),
        ("https://0xa9fea9fe", false, false),
        ("https://aws.test@evil.test", false, false),
    ] {
        assert_eq!(own.endpoint(url, gets_credentials).is_ok(), good, "{url}");
    }
    assert!(own.host("the host a", "10.0.0.1").is_ok() && own.host("the host a", "a.test").is_ok());
    for bad in [
        "169.254.169.254",
        "2852039166",
        "100.100.100.200",
        "fd20:ce::254",
        "64:ff9b::a9fe:a9fe",
        "fe80::1",
        "-oProxyCommand=x",
        "a;b",
        "",
    ] {
        assert_eq!(own.host("the host a", bad).unwrap_err().code(), "TRUST0007", "{bad}");
    }
    assert!(own.url("https://a.test/m.yaml").is_ok());
    for bad in [
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://169.254.169.254/",
        "https://100.100.100.200/",
        "https://[64:ff9b::7f00:1]/",
        "https://localhost/",
        "file:///x",
    ] {
        assert_eq!(own.url(bad).unwrap_err().code(), "TRUST0008", "{bad}");
    }
    assert!(
        !own.url("https://a.test/").unwrap().reach().may_be_at("127.0.0.1".parse().unwrap()),
        "a name may say so"
    );
    let untrusted = at(
        folder.path(),
        Mode::Untrusted,
        &["endpoint=https://aws.test", "host-network=10.0.0.0/8", "url=https://a.test/"],
    );
    assert!(untrusted.endpoint("https://aws.test", true).is_ok() && untrusted.host("a", "10.1.1.1").is_ok());
    assert!(untrusted.url("https://a.test/m.yaml").is_ok());
    assert!(
        untrusted.endpoint("http://127.0.0.1", false).is_err() && untrusted.host("a", "192.0.2.1").is_err()
    );
    assert!(untrusted.url("https://b.test/").is_err());
}

#[test]
fn an_untrusted_spec_gets_the_providers_that_the_caller_names() {
    let folder = checkout();
    let code = |policy: &Policy, name, kind, offline| {
        policy.provider(name, kind, offline).err().map(|refusal| refusal.code())
    };
    let own = at(folder.path(), Mode::Own, &[]);
    assert_eq!(code(&own, "aws", ProviderKind::Process, false), None);
    let none = at(folder.path(), Mode::Untrusted, &[]);
    assert_eq!(code(&none, "sim", ProviderKind::Embedded, false), None);
    assert_eq!(code(&none, "hosts", ProviderKind::Linked, true), None);
    assert_eq!(code(&none, "hosts", ProviderKind::Linked, false), Some("TRUST0009"));
    assert_eq!(code(&none, "aws", ProviderKind::Process, true), Some("TRUST0009"));
    assert_eq!(code(&none, "aws", ProviderKind::Beside, true), None);
    assert_eq!(code(&none, "aws", ProviderKind::Beside, false), Some("TRUST0009"));
    let named = at(folder.path(), Mode::Untrusted, &["provider=aws"]);
    assert_eq!(code(&named, "aws", ProviderKind::Process, false), Some("TRUST0010"));
    let pinned = at(folder.path(), Mode::Untrusted, &["provider=aws", "lock-file=/etc/slipway.lock"]);
    let granted = pinned.provider("aws", ProviderKind::Process, false).unwrap();
    assert_eq!(granted.lock_file(), Some(Path::new("/etc/slipway.lock")));
}

/// The lock file of a repository is that of the working directory.
#[test]
fn a_lock_file_that_the_caller_names_takes_the_place_of_that_of_the_repository() {
    let folder = checkout();
    let lock_file = |arguments: &[&str]| {
        let policy = at(folder.path(), Mode::Own, arguments);
        policy.provider("aws", ProviderKind::Process, false).unwrap().lock_file().map(Path::to_owned)
    };
    assert_eq!(lock_file(&[]).as_deref(), Some(Path::new("slipway.lock")));
    assert_eq!(lock_file(&["lock-file=/etc/slipway.lock"]).as_deref(), Some(Path::new("/etc/slipway.lock")));
}

#[test]
fn an_untrusted_spec_selects_no_credentials() {
    let folder = checkout();
    let arguments = ["provider=aws", "lock-file=/etc/slipway.lock", "endpoint=https://aws.test"];
    let policy = |mode| at(folder.path(), mode, &arguments);
    assert!(policy(Mode::Own).credentials("provider.config.profile", "production", "aws").is_ok());
    // No argument allows it: the caller selects credentials in the settings of the provider.
    let refused =
        policy(Mode::Untrusted).credentials("provider.config.profile", "production", "aws").unwrap_err();
    assert_eq!(refused.code(), "TRUST0012");
    assert!(refused.to_string().contains("provider.config.profile: production"), "{refused}");
    assert!(refused.hint().contains("--provider-config"), "{}", refused.hint());
}

#[test]
fn every_refusal_says_what_allows_it() {
    let folder = checkout();
    let policy = at(folder.path(), Mode::Untrusted, &[]);
    let refusals = [
        policy.file(&Tree::default(), "the file", Path::new("/etc/shadow")).unwrap_err(),
        policy.endpoint("https://a.test", true).unwrap_err(),
        policy.host("the host a", "10.0.0.1").unwrap_err(),
        policy.url("https://a.test/").unwrap_err(),
        policy.kubeconfig(&Tree::default(), Path::new("kc")).unwrap_err(),
        policy.provider("aws", ProviderKind::Process, false).unwrap_err(),
    ];
    let expected = [
        "file-roots = [\"/etc/shadow\"]",
        "--trust endpoint=https://a.test",
        "host-networks = [\"10.0.0.1/32\"]",
        "--trust url=https://a.test/",
        "kubeconfigs = [\"kc\"]",
        "--trust provider=aws",
    ];
    for (refusal, expected) in refusals.iter().zip(expected) {
        assert!(refusal.hint().contains(expected), "{}", refusal.hint());
    }
}
