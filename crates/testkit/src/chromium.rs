//! A headless Chromium that a test steers, over a pipe, by the Chrome DevTools Protocol.
//!
//! The browser has no way to a network: every name is unknown to it. Its fonts are those of one package, so that a page has the
//! same layout on every machine.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::scratch::Scratch;
use crate::{cache, packages};

/// The browser as its package installs it.
const PROGRAM: &str = "/usr/lib/chromium/chromium-headless-shell";

/// The folder of the fonts.
const FONTS: &str = "/usr/share/fonts/truetype/dejavu";

/// Which font a page gets that asks for a kind of font, as the system says.
const KINDS: &str = "/etc/fonts/conf.d";

/// Files that are needed, and the packages of Debian that have them.
const NEEDED: [(&str, &str); 2] = [
    (PROGRAM, "chromium-headless-shell"),
    ("/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf", "fonts-dejavu-core"),
];

/// Starts the browser with the pipe where it expects one: it reads messages from descriptor 3, and writes to descriptor 4.
const WITH_PIPE: &str = r#"log=$1
shift
exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>>"$log""#;

/// How long an answer may take. Machines of continuous integration are slow at times.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running browser. It ends with its value, and when the process that started it is gone.
#[derive(Debug)]
pub struct Chromium {
    process: Child,
    to: Option<ChildStdin>,
    from: Receiver<Value>,
    events: VecDeque<Value>,
    sent: u64,
    _scratch: Scratch,
}

/// A page that is open in a browser.
#[derive(Debug)]
pub struct Page<'b> {
    browser: &'b mut Chromium,
    target: String,
    session: String,
}

impl Chromium {
    /// Installs it if need be, and gives its program.
    ///
    /// # Errors
    /// When the packages are missing and cannot be installed.
    pub fn install() -> Result<PathBuf> {
        cache::check_available("Chromium")?;
        packages::install_missing(&NEEDED)?;
        Ok(PROGRAM.into())
    }

    /// Starts one.
    ///
    /// # Errors
    /// When it cannot be installed or started.
    pub fn start() -> Result<Self> {
        let program = Self::install()?;
        let scratch = Scratch::new("chromium")?;
        let place = |name: &str| scratch.path().join(name);
        let fonts = place("fonts.conf");
        let kept = place("fonts").display().to_string();
        std::fs::write(
            &fonts,
            format!(
                "<fontconfig><dir>{FONTS}</dir><cachedir>{kept}</cachedir>\
                 <include ignore_missing=\"yes\">{KINDS}</include></fontconfig>"
            ),
        )?;
        let mut command = Command::new("sh");
        command.args(["-c", WITH_PIPE, "sh"]).arg(place("log")).arg(program).args([
            "--remote-debugging-pipe",
            // Only root may make the sandbox that Chromium wants, and it refuses to run in it as root.
            "--no-sandbox",
            "--disable-gpu",
            "--disable-breakpad",
            "--disable-background-networking",
            "--force-color-profile=srgb",
            "--font-render-hinting=none",
            "--host-resolver-rules=MAP * ~NOTFOUND",
        ]);
        command.arg(format!("--user-data-dir={}", place("data").display()));
        command
            .env("FONTCONFIG_FILE", fonts)
            .env("HOME", scratch.path())
            .env_remove("DBUS_SESSION_BUS_ADDRESS");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().context("Chromium cannot be started")?;
        let to = process.stdin.take();
        let output = process.stdout.take().context("no output of Chromium")?;
        let (send, from) = mpsc::channel();
        std::thread::spawn(move || {
            let read = BufReader::new(output).split(0).map_while(Result::ok);
            let messages = read.filter_map(|message| serde_json::from_slice(&message).ok());
            for message in messages {
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        let events = VecDeque::new();
        let mut browser = Self { process, to, from, events, sent: 0, _scratch: scratch };
        browser.call(None, "Browser.getVersion", &json!({}))?;
        Ok(browser)
    }

    /// Opens an empty page, of 1280 by 900 pixels.
    ///
    /// # Errors
    /// When the browser refuses.
    pub fn page(&mut self) -> Result<Page<'_>> {
        let made = self.call(None, "Target.createTarget", &json!({"url": "about:blank"}))?;
        let target = text(&made, "targetId")?;
        let attached =
            self.call(None, "Target.attachToTarget", &json!({"targetId": target, "flatten": true}))?;
        let session = text(&attached, "sessionId")?;
        let mut page = Page { browser: self, target, session };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), &json!({}))?;
        }
        page.size(1280, 900)?;
        Ok(page)
    }

    fn call(&mut self, session: Option<&str>, method: &str, parameters: &Value) -> Result<Value> {
        self.sent += 1;
        let id = self.sent;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut bytes = serde_json::to_vec(&message)?;
        bytes.push(0);
        self.to.as_mut().context("Chromium has ended")?.write_all(&bytes)?;
        loop {
            let message = self.receive()?;
            if message["id"] != id {
                self.events.push_back(message);
            } else if let Some(error) = message.get("error") {
                bail!("{method}: {error}");
            } else {
                return Ok(message["result"].clone());
            }
        }
    }

    fn receive(&mut self) -> Result<Value> {
        self.from.recv_timeout(PATIENCE).context("Chromium does not answer")
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // It ends when nobody can steer it any more.
        drop(self.to.take());
        let _ = self.process.wait();
    }
}

impl Page<'_> {
    /// Loads a file, and waits until that is done.
    ///
    /// # Errors
    /// When it cannot be loaded.
    pub fn open(&mut self, file: &Path) -> Result<()> {
        self.browser.events.clear();
        let url = format!("file://{}", file.display());
        let answer = self.call("Page.navigate", &json!({"url": url}))?;
        if let Some(error) = answer.get("errorText") {
            bail!("{url}: {error}");
        }
        let is_loaded = |event: &Value| event["method"] == "Page.loadEventFired";
        while !self.browser.events.iter().any(is_loaded) {
            let message = self.browser.receive()?;
            self.browser.events.push_back(message);
        }
        Ok(())
    }

    /// The value of an expression in the page. A promise is waited for.
    ///
    /// # Errors
    /// When it throws.
    pub fn evaluate(&mut self, expression: &str) -> Result<Value> {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", &parameters)?;
        if let Some(thrown) = answer.get("exceptionDetails") {
            bail!("{expression}: {thrown}");
        }
        Ok(answer["result"]["value"].clone())
    }

    /// Sets the medium (`screen` or `print`) and the colour scheme (`light` or `dark`).
    ///
    /// # Errors
    /// When the browser refuses.
    pub fn show_as(&mut self, medium: &str, scheme: &str) -> Result<()> {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", &json!({"media": medium, "features": features}))?;
        Ok(())
    }

    /// Sets the size in pixels.
    ///
    /// # Errors
    /// When the browser refuses.
    pub fn size(&mut self, width: u32, height: u32) -> Result<()> {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &size)?;
        Ok(())
    }

    /// Turns the scripts of pages off that are opened from now on.
    ///
    /// # Errors
    /// When the browser refuses.
    pub fn without_script(&mut self) -> Result<()> {
        self.call("Emulation.setScriptExecutionDisabled", &json!({"value": true}))?;
        Ok(())
    }

    /// Presses a key by its name, as `Enter`, or the key of a character.
    ///
    /// # Errors
    /// When the browser refuses.
    pub fn press(&mut self, key: &str) -> Result<()> {
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "Tab" => 9,
            " " => 32,
            "ArrowUp" => 38,
            "ArrowDown" => 40,
            _ => 0,
        };
        let typed = match key {
            "Enter" => "\r",
            key if key.chars().count() == 1 => key,
            _ => "",
        };
        let event = |kind: &str, text: &str| {
            let mut event = json!({"type": kind, "key": key, "windowsVirtualKeyCode": code});
            if !text.is_empty() {
                event["text"] = text.into();
            }
            event
        };
        self.call("Input.dispatchKeyEvent", &event("keyDown", typed))?;
        self.call("Input.dispatchKeyEvent", &event("keyUp", ""))?;
        Ok(())
    }

    /// Types a text, key by key.
    ///
    /// # Errors
    /// When the browser refuses.
    pub fn type_text(&mut self, text: &str) -> Result<()> {
        text.chars().try_for_each(|key| self.press(&key.to_string()))
    }

    /// A picture of what is visible, as PNG.
    ///
    /// # Errors
    /// When the browser refuses.
    pub fn picture(&mut self) -> Result<Vec<u8>> {
        self.bytes("Page.captureScreenshot", &json!({"format": "png"}))
    }

    /// The page as it is printed, as PDF.
    ///
    /// # Errors
    /// When the browser refuses.
    pub fn printed(&mut self) -> Result<Vec<u8>> {
        self.bytes("Page.printToPDF", &json!({"printBackground": false}))
    }

    /// What the page wrote to its console, threw, or was refused, since it was opened.
    ///
    /// # Errors
    /// When the browser does not answer.
    pub fn complaints(&mut self) -> Result<Vec<String>> {
        let complaints = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"];
        self.events(|method| complaints.contains(&method), Value::to_string)
    }

    /// The addresses that the page asked for, since it was opened; its own is the first.
    ///
    /// # Errors
    /// When the browser does not answer.
    pub fn requests(&mut self) -> Result<Vec<String>> {
        let url = |event: &Value| event["request"]["url"].as_str().unwrap_or_default().to_owned();
        self.events(|method| method == "Network.requestWillBeSent", url)
    }

    fn events(
        &mut self,
        is_wanted: impl Fn(&str) -> bool,
        tell: impl Fn(&Value) -> String,
    ) -> Result<Vec<String>> {
        // All events until now come before the answer.
        self.evaluate("0")?;
        let wanted = |event: &&Value| event["method"].as_str().is_some_and(&is_wanted);
        Ok(self.browser.events.iter().filter(wanted).map(|event| tell(&event["params"])).collect())
    }

    fn bytes(&mut self, method: &str, parameters: &Value) -> Result<Vec<u8>> {
        let answer = self.call(method, parameters)?;
        // Its error is one of the standard library in some builds only.
        BASE64_STANDARD.decode(text(&answer, "data")?).map_err(|error| anyhow!("the picture: {error}"))
    }

    fn call(&mut self, method: &str, parameters: &Value) -> Result<Value> {
        let session = self.session.clone();
        self.browser.call(Some(&session), method, parameters)
    }
}

impl Drop for Page<'_> {
    fn drop(&mut self) {
        let target = json!({"targetId": self.target});
        let _ = self.browser.call(None, "Target.closeTarget", &target);
    }
}

fn text(answer: &Value, field: &str) -> Result<String> {
    Ok(answer[field].as_str().with_context(|| format!("no {field} in {answer}"))?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_steered_and_watched() {
        let mut browser = Chromium::start().unwrap();
        let scratch = Scratch::new("page").unwrap();
        let file = scratch.path().join("page.html");
        std::fs::write(
            &file,
            "<input autofocus><script>console.log('hello')</script><img src=http://a.test/b>",
        )
        .unwrap();
        let mut page = browser.page().unwrap();
        page.open(&file).unwrap();
        page.evaluate("document.querySelector('input').focus()").unwrap();
        page.type_text("abc").unwrap();
        assert_eq!(page.evaluate("document.querySelector('input').value").unwrap(), "abc");
        assert!(page.complaints().unwrap().iter().any(|said| said.contains("hello")));
        assert_eq!(page.requests().unwrap().get(1).map(String::as_str), Some("http://a.test/b"));
        assert!(page.picture().unwrap().starts_with(b"\x89PNG"));
        assert!(page.evaluate("nothing").is_err());
    }
}
