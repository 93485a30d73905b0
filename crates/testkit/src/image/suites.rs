//! The images of Kubernetes' own tests, under the names that these call them by.
//!
//! `agnhost` and `busybox` are what they are called. The others stand in: specs want a program that answers on port 80, or
//! one that looks names up, and do not look at which one it is.

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
const WEB_SERVERS: [(&str, &str, &str); 4] = [
    ("httpd:2.4.38-4", "/usr/local/apache2/htdocs", "httpd"),
    ("httpd:2.4.39-4", "/usr/local/apache2/htdocs", "httpd-new"),
    ("nginx:1.14-4", "/usr/share/nginx/html", "httpd"),
    ("nginx:1.15-4", "/usr/share/nginx/html", "httpd-new"),
];

/// The image with programs that look names up.
const LOOKUPS: &str = "registry.k8s.io/e2e-test-images/jessie-dnsutils:1.7";

/// All of them.
///
/// # Errors
/// When a program of theirs is missing.
pub fn all(programs: &Path) -> Result<Vec<Image>> {
    let commands = said(Command::new(BUSYBOX_PROGRAM).arg("--list"))?;
    let commands: Vec<&str> = commands.lines().filter(|name| *name != "busybox").collect();
    let sources = go::fetch("k8s.io/kubernetes", &format!("v{}", kubernetes::VERSION))?.folder;
    let sources = sources.join("test/images");

    let mut agnhost = with_bash(&commands)?;
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

    let mut busybox = with_busybox(Image::default(), &commands);
    busybox.name = BUSYBOX.to_owned();
    busybox.entrypoint = vec!["/bin/sh".to_owned()];

    let mut lookups = with_bash(&commands)?;
    lookups.name = LOOKUPS.to_owned();
    lookups.entrypoint = vec!["/bin/sh".to_owned()];

    let mut images = vec![agnhost, busybox, lookups];
    for (name, folder, source) in WEB_SERVERS {
        let mut server = with_busybox(Image::default(), &commands);
        server.name = format!("registry.k8s.io/e2e-test-images/{name}");
        server.files.push((format!("{folder}/index.html"), sources.join(source).join("index.html")));
        server.entrypoint = ["/bin/httpd", "-f", "-p", "80", "-h", folder].map(str::to_owned).into();
        images.push(server);
    }
    Ok(images)
}

/// What specs run in their images besides the programs that those are about.
fn with_bash(commands: &[&str]) -> Result<Image> {
    // busybox' shell would run its own programs, whatever the path says.
    let own = ["nc", "nslookup", "sh"];
    let others: Vec<&str> = commands.iter().copied().filter(|name| !own.contains(name)).collect();
    let mut image = with_busybox(Image::default(), &others);
    add_linked(
        &mut image,
        ["bash", "dig", "getent", "nslookup"].map(|name| Path::new("/usr/bin").join(name)),
    )?;
    for place in ["/bin/bash", "/bin/sh"] {
        image.links.push((place.to_owned(), "/usr/bin/bash".to_owned()));
    }
    Ok(image)
}
