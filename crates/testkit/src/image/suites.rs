//! The images of Kubernetes' own tests, under the names that these call them by.
//!
//! `agnhost` and `busybox` are the real programs. The others are replacements: specs need a program that
//! answers on port 80, or one that looks names up, and do not check which one it is.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::Image;
use super::catalog::{BUSYBOX_PROGRAM, add_linked, said, with_busybox};
use crate::{go, kubernetes};

/// The image with `agnhost`, the program of Kubernetes' own tests, and a shell.
pub const AGNHOST: &str = "registry.k8s.io/e2e-test-images/agnhost:2.56";

/// The image with `busybox`.
pub const BUSYBOX: &str = "registry.k8s.io/e2e-test-images/busybox:1.37.0-1";

/// Images of web servers, where those have their page, and where Kubernetes has it. busybox' own server shows it here.
const WEB_SERVERS: [(&str, &str, &str); 5] = [
    ("httpd:2.4.38-4", "/usr/local/apache2/htdocs", "httpd/index.html"),
    ("httpd:2.4.39-4", "/usr/local/apache2/htdocs", "httpd-new/index.html"),
    ("nautilus:1.7", "/srv", "nautilus/html/data.json"),
    ("nginx:1.14-4", "/usr/share/nginx/html", "httpd/index.html"),
    ("nginx:1.15-4", "/usr/share/nginx/html", "httpd-new/index.html"),
];

/// The image with programs that look names up.
const LOOKUPS: &str = "registry.k8s.io/e2e-test-images/jessie-dnsutils:1.7";

/// The image with a program that says who runs it, and runs as root unless that is forbidden.
const NO_NEW_PRIVILEGES: &str = "registry.k8s.io/e2e-test-images/nonewprivs:1.3";

/// The image with an API server to put behind another one.
const SAMPLE_APISERVER: &str = "registry.k8s.io/e2e-test-images/sample-apiserver:1.29.2";

/// Commands for which some images have other programs than busybox.
const INSTEAD: [&str; 2] = ["nc", "nslookup"];

/// All of them; those that only conformance runs, when [`kubernetes::install_tested`] has been called.
///
/// # Errors
/// When a program of theirs is missing.
pub fn all(programs: &Path) -> Result<Vec<Image>> {
    let commands = said(Command::new(BUSYBOX_PROGRAM).arg("--list"))?;
    let commands: Vec<&str> = commands.lines().filter(|name| *name != "busybox").collect();
    let sources = go::fetch("k8s.io/kubernetes", &format!("v{}", kubernetes::VERSION))?.folder;
    let sources = sources.join("test/images");

    let mut agnhost = with_lookups(&commands)?;
    agnhost.name = AGNHOST.to_owned();
    add_linked(&mut agnhost, ["/usr/bin/curl".into(), "/usr/bin/nc.openbsd".into()])?;
    agnhost.links.push(("/usr/bin/nc".to_owned(), "nc.openbsd".to_owned()));
    agnhost.links.push(("/agnhost-2".to_owned(), "agnhost".to_owned()));
    for name in ["localhost.crt", "localhost.key"] {
        agnhost.files.push((format!("/{name}"), sources.join("agnhost/porter").join(name)));
    }
    agnhost.files.push(("/agnhost".to_owned(), programs.join("agnhost")));
    agnhost.entrypoint = vec!["/agnhost".to_owned()];
    agnhost.arguments = vec!["pause".to_owned()];

    let mut busybox = with_bash(&commands)?;
    busybox.links.retain(|(place, _)| place != "/bin/sh");
    busybox
        .files
        .push(("/bin/sh".to_owned(), Path::new(env!("CARGO_MANIFEST_DIR")).join("src/image/shell.sh")));
    busybox.name = BUSYBOX.to_owned();
    busybox.entrypoint = vec!["/bin/sh".to_owned()];

    let mut lookups = with_lookups(&commands)?;
    lookups.name = LOOKUPS.to_owned();
    lookups.entrypoint = vec!["/bin/sh".to_owned()];

    let mut images = vec![agnhost, busybox, lookups];
    images.extend(kubernetes::tested()?.iter().flat_map(|tested| of_conformance(tested)));
    for (name, folder, source) in WEB_SERVERS {
        let mut server = with_busybox(Image::default(), &commands);
        server.name = format!("registry.k8s.io/e2e-test-images/{name}");
        let page = source.rsplit('/').next().unwrap_or(source);
        server.files.push((format!("{folder}/{page}"), sources.join(source)));
        server.entrypoint = ["/bin/httpd", "-f", "-p", "80", "-h", folder].map(str::to_owned).into();
        images.push(server);
    }
    Ok(images)
}

/// The programs that some conformance specs run, if they are built.
fn of_conformance(tested: &Path) -> [Image; 2] {
    let no_new_privileges = Image {
        name: NO_NEW_PRIVILEGES.to_owned(),
        files: vec![("/usr/local/bin/nnp".to_owned(), tested.join("nonewprivs"))],
        as_root: vec!["/usr/local/bin/nnp".to_owned()],
        entrypoint: vec!["nnp".to_owned()],
        ..Image::default()
    };
    let sample_apiserver = Image {
        name: SAMPLE_APISERVER.to_owned(),
        files: vec![("/sample-apiserver".to_owned(), tested.join("sample-apiserver"))],
        entrypoint: vec!["/sample-apiserver".to_owned()],
        ..Image::default()
    };
    [no_new_privileges, sample_apiserver]
}

/// busybox with bash as its shell.
fn with_bash(commands: &[&str]) -> Result<Image> {
    let others: Vec<&str> = commands.iter().copied().filter(|name| *name != "sh").collect();
    let mut image = with_busybox(Image::default(), &others);
    add_linked(&mut image, ["/usr/bin/bash".into()])?;
    for place in ["/bin/bash", "/bin/sh"] {
        image.links.push((place.to_owned(), "/usr/bin/bash".to_owned()));
    }
    Ok(image)
}

/// The same with what specs look names up by, in place of busybox' own programs.
fn with_lookups(commands: &[&str]) -> Result<Image> {
    let others: Vec<&str> = commands.iter().copied().filter(|name| !INSTEAD.contains(name)).collect();
    let mut image = with_bash(&others)?;
    add_linked(&mut image, ["dig", "getent", "nslookup"].map(|name| Path::new("/usr/bin").join(name)))?;
    Ok(image)
}
