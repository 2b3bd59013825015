//! Takes secrets out of text that leaves the machine. Rather too much than too little.

/// Words that begin like this are keys of well-known services.
const PREFIXES: [&str; 14] = [
    "sk-",
    "sk_",
    "rk_",
    "pk_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "eyJ",
];
/// A name with one of these in it has a secret as its value.
const NAMES: [&str; 8] =
    ["token", "secret", "password", "passwd", "apikey", "api_key", "authorization", "bearer"];
const GONE: &str = "[redacted]";

/// Known secrets, and whatever looks like one.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    known: Vec<String>,
    home: Option<String>,
}

impl Redactor {
    /// Values that must not appear, however harmless they look; and the home folder, which names a person.
    pub fn new(known: impl IntoIterator<Item = String>, home: Option<String>) -> Self {
        let mut known: Vec<String> = known.into_iter().filter(|value| value.len() >= 4).collect();
        // The longest first: one may be part of another.
        known.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self { known, home: home.filter(|home| home.len() > 1) }
    }

    pub fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for value in &self.known {
            text = text.replace(value, GONE);
        }
        if let Some(home) = &self.home {
            text = text.replace(home, "~");
        }
        text.lines().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Word by word; what stands between words stays as it is.
fn line(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    let mut after_name = false;
    while let Some(start) = rest.find(is_word) {
        let (between, tail) = rest.split_at(start);
        let end = tail.find(|c| !is_word(c)).unwrap_or(tail.len());
        let (word, tail) = tail.split_at(end);
        out.push_str(between);
        let is_key = PREFIXES.iter().any(|prefix| word.starts_with(prefix)) && word.len() >= 12;
        let is_value =
            after_name && !is_name(word) && (between.contains(['=', ':']) || between.trim().is_empty());
        out.push_str(if is_key || is_value { GONE } else { word });
        after_name = is_name(word);
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// Where a repository lies, without whatever lets one in. What cannot be told apart is not shown.
pub fn address(address: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    let Some((scheme, rest)) = address.split_once("://").filter(|(scheme, _)| scheme.chars().all(plain))
    else {
        // `git@host:path` or a path; a program with arguments, or a password before the host, is something else.
        let before = address.rsplit_once('@').map_or("", |(before, _)| before);
        let strange = address.contains("::") || before.contains(':');
        return if strange { GONE.to_owned() } else { address.to_owned() };
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (person, host) = host.rsplit_once('@').unwrap_or(("", host));
    let port = if host.ends_with(']') { "" } else { host.rsplit_once(':').map_or("", |(_, port)| port) };
    if !port.chars().all(|c| c.is_ascii_digit()) {
        // A slash in a password: what was taken for a port is a part of it.
        return format!("{scheme}://{GONE}");
    }
    // Over ssh the name says which account is meant; elsewhere it may itself be the key.
    let person = person.split(':').next().filter(|name| scheme.ends_with("ssh") && !name.is_empty());
    let person = person.map(|name| format!("{name}@")).unwrap_or_default();
    format!("{scheme}://{person}{host}{path}")
}

fn is_name(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    // Tokens are also what a model reads, and their number is no secret.
    !lower.ends_with("tokens") && NAMES.iter().any(|name| lower.contains(name))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || "_-./+~%".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_where_and_never_how_to_get_in() {
        for (address, shown) in [
            ("https://github.com/you/repo.git", "https://github.com/you/repo.git"),
            ("https://you:hush@github.com/you/repo", "https://github.com/you/repo"),
            ("https://hush@github.com:8443/you/repo", "https://github.com:8443/you/repo"),
            ("https://you:hu@sh@github.com/x", "https://github.com/x"),
            ("https://you:hu/sh@github.com/x", "https://[redacted]"),
            ("https://host/x?access_token=hush#hush", "https://host/x"),
            ("https://host/@scope/x", "https://host/@scope/x"),
            ("http://you:hush@[::1]/x", "http://[::1]/x"),
            ("ssh://git:hush@host:22/x", "ssh://git@host:22/x"),
            ("git@github.com:you/repo.git", "git@github.com:you/repo.git"),
            ("you:hush@host:x", "[redacted]"),
            ("ext::sh -c hush", "[redacted]"),
            ("/srv/git/repo.git", "/srv/git/repo.git"),
            ("file:///srv/git/repo.git", "file:///srv/git/repo.git"),
        ] {
            assert_eq!(super::address(address), shown, "{address}");
        }
    }

    #[test]
    fn secrets_go_and_the_rest_stays() {
        let redactor = Redactor::new(["hunter22".to_owned(), "x".to_owned()], Some("/home/ann".into()));
        for (text, clean) in [
            ("pass hunter22 on", "pass [redacted] on"),
            ("key sk-ant-REDACTED!", "key [redacted]!"),
            ("Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"),
            ("{\"api_key\":\"q1w2e3\",\"n\":1}", "{\"api_key\":\"[redacted]\",\"n\":1}"),
            ("MY_TOKEN=abc other=1", "MY_TOKEN=[redacted] other=1"),
            ("in /home/ann/src x", "in ~/src x"),
            ("an sk- is short, 12 tokens were used", "an sk- is short, 12 tokens were used"),
            ("nothing here: a=b\nsecond line", "nothing here: a=b\nsecond line"),
        ] {
            assert_eq!(redactor.clean(text), clean);
        }
    }
}
