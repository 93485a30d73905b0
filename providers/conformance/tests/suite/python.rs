//! A provider in another language, written from the `.proto` file alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use slipway_provider_conformance::{Limits, RULES, Scenario, Suite, Verdict};

/// Runs a command that has to succeed.
fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A Python with gRPC and the messages of the contract; kept in the target directory from run to run.
struct Python {
    interpreter: PathBuf,
    generated: PathBuf,
}

impl Python {
    fn set_up(source: &Path) -> Self {
        let requirements = source.join("requirements.txt");
        let wanted = std::fs::read_to_string(&requirements).unwrap();
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python-provider");
        let environment = home.join("environment");
        let interpreter = environment.join("bin/python");
        let installed = home.join("installed.txt");
        if std::fs::read_to_string(&installed).ok().as_ref() != Some(&wanted) {
            run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment));
            run(Command::new(&interpreter)
                .args(["-m", "pip", "install", "--quiet", "--requirement"])
                .arg(&requirements));
            std::fs::write(&installed, wanted).unwrap();
        }
        let generated = home.join("generated");
        std::fs::create_dir_all(&generated).unwrap();
        let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/protocol/proto");
        run(Command::new(&interpreter)
            .args(["-m", "grpc_tools.protoc"])
            .arg(format!("--proto_path={}", proto.display()))
            .arg(format!("--python_out={}", generated.display()))
            .arg(format!("--grpc_python_out={}", generated.display()))
            .arg("slipway/provider/v1alpha1/provider.proto"));
        Self { interpreter, generated }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_python_provider_keeps_every_rule() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python");
    let python = Python::set_up(&source);
    let scenario = Scenario::read(&source.join("conformance.json")).unwrap();
    let limits = Limits { parallel: 3, ..Limits::default() };
    let arguments = vec![source.join("provider.py").into(), python.generated.into()];
    let report = Suite::new("python", python.interpreter, scenario)
        .with_arguments(arguments)
        .with_limits(limits)
        .run(&[])
        .await;
    assert_eq!(report.with(&Verdict::Pass).len(), RULES.len(), "{}", report.to_text());
}
