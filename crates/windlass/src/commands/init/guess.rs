//! Guesses how a project is tested, from what lies in its folder.

use std::path::Path;

/// The command, if there is a sign that everybody knows. A script made for CI says it best.
pub fn ci(root: &Path) -> Option<String> {
    let has = |name: &str| root.join(name).is_file();
    if has(".ci/run") {
        return Some(".ci/run".into());
    }
    if has("Cargo.toml") {
        return Some("cargo test".into());
    }
    if has_npm_test(root) {
        return Some("npm test".into());
    }
    if has("go.mod") {
        return Some("go test ./...".into());
    }
    if has("pytest.ini") || python_tests(root) {
        return Some("pytest".into());
    }
    for (name, command) in [("justfile", "just test"), ("Justfile", "just test"), ("Makefile", "make test")] {
        if has_target(root, name) {
            return Some(command.into());
        }
    }
    None
}

fn has_npm_test(root: &Path) -> bool {
    let package = std::fs::read_to_string(root.join("package.json")).unwrap_or_default();
    let package: serde_json::Value = serde_json::from_str(&package).unwrap_or_default();
    // `npm init` writes a test that only says that there is none.
    package["scripts"]["test"].as_str().is_some_and(|test| !test.contains("no test specified"))
}

fn python_tests(root: &Path) -> bool {
    let Ok(project) = std::fs::read_to_string(root.join("pyproject.toml")) else { return false };
    project.contains("pytest") || root.join("tests").is_dir()
}

/// A recipe called `test`, in a Makefile or a justfile.
fn has_target(root: &Path, name: &str) -> bool {
    let text = std::fs::read_to_string(root.join(name)).unwrap_or_default();
    text.lines().any(|line| {
        let target = line.split(':').next().unwrap_or_default();
        line.contains(':') && !line.contains(":=") && target.split_whitespace().next() == Some("test")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(files: &[(&str, &str)]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        ci(folder.path())
    }

    #[test]
    fn the_usual_signs_are_read() {
        for (file, text, command) in [
            ("Cargo.toml", "", Some("cargo test")),
            ("package.json", r#"{"scripts":{"test":"vitest"}}"#, Some("npm test")),
            ("package.json", r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#, None),
            ("package.json", "{broken", None),
            ("go.mod", "module x", Some("go test ./...")),
            ("pytest.ini", "", Some("pytest")),
            ("pyproject.toml", "[tool.pytest.ini_options]", Some("pytest")),
            ("pyproject.toml", "[project]", None),
            ("Makefile", "all:\n\ttrue\ntest: all\n\ttrue\n", Some("make test")),
            ("Makefile", "test := 1\nall:\n", None),
            ("justfile", "test arg='x':\n  true\n", Some("just test")),
            (".ci/run", "#!/bin/sh", Some(".ci/run")),
            ("README.md", "", None),
        ] {
            assert_eq!(guess(&[(file, text)]).as_deref(), command, "{file}: {text}");
        }
        assert_eq!(guess(&[("Cargo.toml", ""), (".ci/run", "")]).as_deref(), Some(".ci/run"));
    }
}
