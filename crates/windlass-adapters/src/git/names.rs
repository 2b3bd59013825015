//! Which names may become part of a ref: stricter than git itself, so that no name means anything else anywhere.

use windlass_core::id::Sha;

use super::error::GitError;

/// The full name of a branch, if `branch` is a harmless name.
pub(super) fn head_ref(branch: &str) -> Result<String, GitError> {
    checked(branch)?;
    Ok(format!("refs/heads/{branch}"))
}

/// Where the last fetched state of a session's branch is kept.
pub(super) fn work_ref(branch: &str) -> Result<String, GitError> {
    checked(branch)?;
    Ok(format!("refs/windlass/work/{branch}"))
}

/// Where commits are kept that a session made beside its branch.
pub(super) fn elsewhere_ref(branch: &str) -> Result<String, GitError> {
    checked(branch)?;
    Ok(format!("refs/windlass/elsewhere/{branch}"))
}

/// Below this name lies what was saved of workspaces, each by the name of its task.
pub const RESCUE: &str = "refs/windlass/rescue/";

/// Where the main branch of a person's checkout was last seen.
pub(super) fn checkout_ref(branch: &str) -> Result<String, GitError> {
    checked(branch)?;
    Ok(format!("refs/windlass/checkout/{branch}"))
}

/// Where it is kept as what a head came to main.
pub(super) fn landed_ref(head: &Sha) -> String {
    format!("refs/windlass/landed/{head}")
}

/// A full ref name such as `refs/windlass/run/7`.
pub(super) fn full_ref(name: &str) -> Result<&str, GitError> {
    match name.strip_prefix("refs/") {
        Some(rest) if rest.contains('/') => checked(rest).map(|_| name),
        Some(_) | None => Err(GitError::BadName { name: name.to_owned() }),
    }
}

fn checked(name: &str) -> Result<&str, GitError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/-+#@=,".contains(c);
    let part_is_fine = |part: &str| {
        !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with('.') && !part.ends_with(".lock")
    };
    let fine = name.len() <= 200
        && name.chars().all(plain)
        && !name.contains("..")
        && name.split('/').all(part_is_fine)
        && !["HEAD", "@"].contains(&name);
    if fine { Ok(name) } else { Err(GitError::BadName { name: name.chars().take(80).collect() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_names_pass() {
        for name in ["main", "fix/issue-12", "windlass/dev-12.1-1", "v1.0"] {
            assert_eq!(head_ref(name).unwrap(), format!("refs/heads/{name}"));
        }
        for name in [
            "", "-u", "a/-x", "a..b", "a b", "x.lock", ".x", "a//b", "a/", "HEAD", "a\nb", "$(x)", "a:b",
            "+a:b",
        ] {
            assert!(head_ref(name).is_err(), "{name}");
        }
        assert!(full_ref("refs/windlass/run/7").is_ok());
        assert!(full_ref("refs/x").is_err() && full_ref("HEAD").is_err() && full_ref("refs/a/..").is_err());
    }
}
