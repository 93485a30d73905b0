//! Mirrors in buckets: the lines of the script that sign a URL with the credentials of the instance.

/// The scheme of their URLs.
pub(super) const SCHEME: &str = "s3://";

/// The line that replaces the URL of a bucket by a signed one, in the function that fetches a URL.
pub(super) const SIGNED: &str = "case $1 in s3://*) set -- \"$(sign $1)\" \"$2\" ;; esac\n";

/// Where S3 is, as the script reaches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::expand::user_data) struct S3 {
    scheme: String,
    host: String,
    region: String,
}

impl S3 {
    /// S3 of a region, or at the endpoint of an emulator.
    pub(in crate::expand::user_data) fn of(endpoint: Option<&str>, region: &str, domain: &str) -> Self {
        let given = endpoint.and_then(|url| url.split_once("://"));
        let (scheme, host) = match given {
            Some((scheme, rest)) => (scheme.to_owned(), rest.trim_end_matches('/').to_owned()),
            None => ("https".to_owned(), format!("s3.{region}.{domain}")),
        };
        Self { scheme, host, region: region.to_owned() }
    }

    /// The functions of the script. `sign` prints the URL of an object with a signature of version 4 in its query
    /// (<https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html>), which is valid for 15 minutes. It asks the
    /// metadata of the instance with `ask`. Nothing of it is written to a disk or a console.
    pub(super) fn sign(&self) -> String {
        let Self { scheme, host, region } = self;
        format!("scheme={scheme} host={host} region={region}\n{FUNCTIONS}")
    }
}

/// The functions behind the place of S3.
const FUNCTIONS: &str = r#"imds() {
for metadata in 169.254.169.254 '[fd00:ec2::254]'; do
token=$(ask PUT 'X-aws-ec2-metadata-token-ttl-seconds: 60' http://$metadata/latest/api/token) || continue
ask GET "X-aws-ec2-metadata-token: $token" http://$metadata/latest/meta-data/iam/security-credentials/${1:-} && return
done
return 1
}
hmac() { printf %s "$2" | openssl dgst -sha256 -mac HMAC -macopt hexkey:$1 | sed 's/.* //'; }
sign() {
command -v openssl >/dev/null || { say "$1 needs the program openssl"; return 1; }
role=$(imds) && keys=$(imds $role) || { say "this instance has no role that reads $1"; return 1; }
field() { printf %s "$keys" | tr -d '\n' | sed -n "s/.*\"$1\" *: *\"\([^\"]*\)\".*/\1/p"; }
now=$(date -u +%Y%m%dT%H%M%SZ)
day=${now%T*}
place=$day/$region/s3/aws4_request
path=/$(printf %s "${1#s3://}" | sed 's/+/%2B/g')
query="X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=$(printf %s "$(field AccessKeyId)/$place" | sed 's,/,%2F,g')"
query="$query&X-Amz-Date=$now&X-Amz-Expires=900"
query="$query&X-Amz-Security-Token=$(field Token | sed 's/+/%2B/g;s,/,%2F,g;s/=/%3D/g')&X-Amz-SignedHeaders=host"
digest=$(printf 'GET\n%s\n%s\nhost:%s\n\nhost\nUNSIGNED-PAYLOAD' $path "$query" $host | sha256sum | cut -d' ' -f1)
key=$(printf %s "AWS4$(field SecretAccessKey)" | od -An -v -tx1 | tr -d ' \n')
for part in $day $region s3 aws4_request; do key=$(hmac $key $part); done
text=$(printf 'AWS4-HMAC-SHA256\n%s\n%s\n%s' $now $place $digest)
echo "$scheme://$host$path?$query&X-Amz-Signature=$(hmac $key "$text")"
}
"#;

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Runs the functions in a shell whose metadata and clock are given.
    fn run(metadata: &str, url: &str) -> String {
        let s3 = S3::of(None, "us-east-1", "amazonaws.com").sign();
        let script = format!(
            "set -eu\nsay() {{ echo \"said: $*\"; }}\n{s3}\
             ask() {{ case $1 in PUT) echo token ;; *) case $3 in */security-credentials/) echo a-role ;; *) {metadata} ;; esac ;; \
             esac; }}\n\
             date() {{ echo 20260101T000000Z; }}\nsign {url} || true\n"
        );
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    const KEYS: &str = "printf '{\\n  \"Code\" : \"Success\",\\n  \"AccessKeyId\" : \"AKIAIOSFODNN7EXAMPLE\",\\n  \
                        \"SecretAccessKey\" : \"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY\",\\n  \"Token\" : \"tok/en+x==\"\\n}'";

    /// The signature was computed with another implementation.
    #[test]
    fn the_url_of_an_object_is_signed_for_the_role_of_the_instance() {
        let signed = run(KEYS, "s3://bucket/a/b+c");
        let (url, signature) = signed.trim_end().split_once("&X-Amz-Signature=").unwrap();
        assert!(
            url.starts_with("https://s3.us-east-1.amazonaws.com/bucket/a/b%2Bc?X-Amz-Algorithm="),
            "{url}"
        );
        assert!(url.contains("&X-Amz-Security-Token=tok%2Fen%2Bx%3D%3D&"), "{url}");
        assert_eq!(signature, "888279f8251ac7fb16209512fd2feee964d42f7a355f8a811e611eda6f03afb0");
    }

    #[test]
    fn an_instance_without_a_role_says_so() {
        assert_eq!(
            run("return 1", "s3://bucket/a"),
            "said: this instance has no role that reads s3://bucket/a\n"
        );
    }

    #[test]
    fn an_emulator_is_reached_at_its_endpoint() {
        let s3 = S3::of(Some("http://10.0.0.1:5000/"), "us-east-1", "amazonaws.com");
        assert!(s3.sign().starts_with("scheme=http host=10.0.0.1:5000 region=us-east-1\n"));
    }
}
