//! Chains of iptables that others have made for a cluster, and taking them away without touching any other rule.

use std::collections::BTreeSet;
use std::process::Stdio;

use slipway_resource::ProviderError;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::super::Work;
use crate::error::permanent;
use crate::program;

/// The programs for IPv4 and IPv6.
pub(super) const FAMILIES: [(&str, &str); 2] =
    [("iptables-save", "iptables-restore"), ("ip6tables-save", "ip6tables-restore")];

/// The chains with these prefixes, each as `program table chain`.
pub(super) async fn chains(
    work: &Work,
    (save, _): (&str, &str),
    prefixes: &[String],
) -> Result<BTreeSet<String>, ProviderError> {
    let Some(saved) = saved(work, save, prefixes).await? else { return Ok(BTreeSet::new()) };
    let found = ours(&saved, prefixes);
    Ok(found.into_iter().map(|(table, chain)| format!("{save} {table} {chain}")).collect())
}

/// Takes away the chains with these prefixes that were not there before, and the rules that lead to them.
pub(super) async fn remove(
    work: &Work,
    (save, restore): (&str, &str),
    prefixes: &[String],
    before: &BTreeSet<String>,
) -> Result<(), ProviderError> {
    let Some(saved) = saved(work, save, prefixes).await? else { return Ok(()) };
    let mut leaving = ours(&saved, prefixes);
    leaving.retain(|(table, chain)| !before.contains(&format!("{save} {table} {chain}")));
    if leaving.is_empty() {
        return Ok(());
    }
    let script = script(&saved, &leaving);
    work.host().disk.at("remove rules");
    let Some(program) = program::find(work.host(), restore) else { return Ok(()) };
    let failed = |text: String| permanent(format!("{restore}: {text}"));
    let mut command = Command::new(program);
    command.arg("--noflush").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn().map_err(|error| failed(error.to_string()))?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(script.as_bytes()).await.map_err(|error| failed(error.to_string()))?;
    }
    let output = child.wait_with_output().await.map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

async fn saved(work: &Work, save: &str, prefixes: &[String]) -> Result<Option<String>, ProviderError> {
    if prefixes.is_empty()
        || !work.host().disk.root().is_machine()
        || program::find(work.host(), save).is_none()
    {
        return Ok(None);
    }
    let output = program::run(work.host(), save, &[]).await?;
    // A kernel without it has no rules.
    Ok(output.success.then_some(output.out))
}

/// Table and name of each chain with one of the prefixes.
fn ours(saved: &str, prefixes: &[String]) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    let mut table = "";
    for line in saved.lines() {
        if let Some(name) = line.strip_prefix('*') {
            table = name;
        } else if let Some(chain) = line.strip_prefix(':').and_then(|line| line.split(' ').next())
            && prefixes.iter().any(|prefix| chain.starts_with(prefix.as_str()))
        {
            found.insert((table.to_owned(), chain.to_owned()));
        }
    }
    found
}

/// The input of `iptables-restore --noflush`: first the rules that jump to the chains are deleted, then the
/// chains are flushed, then they are deleted.
fn script(saved: &str, leaving: &BTreeSet<(String, String)>) -> String {
    let mut script = String::new();
    let mut table = "";
    let mut deletes = Vec::new();
    for line in saved.lines() {
        if let Some(name) = line.strip_prefix('*') {
            table = name;
            deletes.clear();
        } else if let Some(rule) = line.strip_prefix("-A ") {
            let words: Vec<&str> = rule.split(' ').collect();
            let is_ours = |chain: &str| leaving.contains(&(table.to_owned(), chain.to_owned()));
            let leads = words.windows(2).any(|pair| matches!(pair[0], "-j" | "-g") && is_ours(pair[1]));
            if leads && !words.first().is_some_and(|chain| is_ours(chain)) {
                deletes.push(format!("-D {rule}\n"));
            }
        } else if line == "COMMIT" {
            let chains: Vec<&String> =
                leaving.iter().filter(|(within, _)| within == table).map(|(_, chain)| chain).collect();
            if !chains.is_empty() {
                script.push_str(&format!("*{table}\n"));
                // A chain that is named is emptied.
                chains.iter().for_each(|chain| script.push_str(&format!(":{chain} - [0:0]\n")));
                deletes.iter().for_each(|delete| script.push_str(delete));
                chains.iter().for_each(|chain| script.push_str(&format!("-X {chain}\n")));
                script.push_str("COMMIT\n");
            }
        }
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAVED: &str = "# Generated\n*filter\n:INPUT ACCEPT [0:0]\n:KUBE-FIREWALL - [0:0]\n:MINE - [0:0]\n\
        -A INPUT -j KUBE-FIREWALL\n-A INPUT -s 10.0.0.0/8 -m comment --comment \"to KUBE- things\" -j MINE\n\
        -A KUBE-FIREWALL -j DROP\nCOMMIT\n*nat\n:PREROUTING ACCEPT [0:0]\n:KUBE-SERVICES - [0:0]\n:KUBE-SEP-A - [0:0]\n\
        -A PREROUTING -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n\
        -A KUBE-SERVICES -j KUBE-SEP-A\nCOMMIT\n*raw\n:OUTPUT ACCEPT [0:0]\nCOMMIT\n";

    #[test]
    fn only_what_is_ours_goes() {
        let prefixes = ["KUBE-".to_owned()];
        let mut leaving = ours(SAVED, &prefixes);
        assert_eq!(leaving.len(), 3);
        assert_eq!(
            script(SAVED, &leaving),
            "*filter\n:KUBE-FIREWALL - [0:0]\n-D INPUT -j KUBE-FIREWALL\n-X KUBE-FIREWALL\nCOMMIT\n\
             *nat\n:KUBE-SEP-A - [0:0]\n:KUBE-SERVICES - [0:0]\n\
             -D PREROUTING -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n\
             -X KUBE-SEP-A\n-X KUBE-SERVICES\nCOMMIT\n"
        );
        leaving.retain(|(table, _)| table == "filter");
        assert!(!script(SAVED, &leaving).contains("nat"));
        assert!(ours(SAVED, &[]).is_empty());
    }
}
