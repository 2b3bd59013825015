//! Clones prepared to run something in the daemon, or to lead it somewhere else.

use std::path::Path;

use windlass_adapters::git::FetchError;

use crate::support::{AT, Attack, World, canary, git, try_git, write};

const HOOKS: [&str; 14] = [
    "reference-transaction",
    "post-index-change",
    "pre-receive",
    "update",
    "post-update",
    "post-receive",
    "proc-receive",
    "post-checkout",
    "post-merge",
    "pre-commit",
    "post-commit",
    "fsmonitor-watchman",
    "pre-auto-gc",
    "push-to-checkout",
];

/// Settings that make git run a program; `{}` is the program.
const SETTINGS: [(&str, &str); 20] = [
    ("core.fsmonitor", "{}"),
    ("core.sshCommand", "{}"),
    ("core.pager", "{}"),
    ("core.editor", "{}"),
    ("core.askPass", "{}"),
    ("core.gitProxy", "{}"),
    ("core.alternateRefsCommand", "{}"),
    ("filter.evil.clean", "{}"),
    ("filter.evil.smudge", "{}"),
    ("filter.evil.process", "{}"),
    ("diff.external", "{}"),
    ("diff.evil.textconv", "{}"),
    ("diff.evil.command", "{}"),
    ("merge.evil.driver", "{}"),
    ("credential.helper", "{}"),
    ("gpg.program", "{}"),
    ("uploadpack.packObjectsHook", "{}"),
    ("remote.origin.uploadpack", "{}"),
    ("alias.upload-pack", "!{}"),
    ("trailer.x.command", "{}"),
];

#[test]
fn nothing_that_a_clone_says_is_run() {
    let world = World::new();
    let clone = world.clone("dev");
    let signs = world.path("signs");
    std::fs::create_dir(&signs).unwrap();
    write(&clone, ".gitattributes", "* filter=evil diff=evil merge=evil\n");
    write(&clone, "a.txt", "changed\n");
    git(&clone, &["add", "-A"]);
    git(&clone, &["commit", "-qm", "evil"]);
    write(&clone, "a.txt", "changed again\n");
    write(&clone, "untracked.txt", "new\n");
    plant(&clone, &signs);
    write(&clone, "nested/x.txt", "x");
    git(&clone.join("nested"), &["init", "-q"]);
    plant(&clone.join("nested"), &signs);

    let fetched = world.repo.fetch_work(&clone, "dev").unwrap();
    let base = world.main();
    world.repo.diff(&base, &fetched.head, 1 << 20).unwrap();
    world.repo.changed_paths(&base, &fetched.head).unwrap();
    world.repo.merge_tree(&base, &fetched.head).unwrap();
    let slot = windlass_adapters::git::Slot::new(&world.path("slot"), vec![]).unwrap();
    slot.check_out(&world.repo, &fetched.head).unwrap();
    let saved = world.repo.remove_workspace(&clone, "dev", "refs/windlass/rescue/dev", AT).unwrap().unwrap();
    assert_eq!(git(world.repo.path(), &["show", &format!("{}:a.txt", saved.commit)]), "changed again");

    let ran: Vec<_> = canaries(&signs);
    assert_eq!(ran, Vec::<String>::new());
}

/// The test above means nothing if the canaries cannot sing: the same clone, used the careless way.
#[test]
fn the_canaries_sing_when_git_is_used_in_the_clone() {
    let world = World::new();
    let clone = world.clone("dev");
    let signs = world.path("signs");
    std::fs::create_dir(&signs).unwrap();
    write(&clone, ".gitattributes", "* filter=evil diff=evil merge=evil\n");
    write(&clone, "a.txt", "changed\n");
    plant(&clone, &signs);
    // Whether these commands succeed is not the question.
    drop(try_git(&clone, &["status"]));
    drop(try_git(&clone, &["add", "-A"]));
    drop(try_git(&clone, &["commit", "-qm", "x"]));
    let ran = canaries(&signs);
    for expected in ["core.fsmonitor", "filter.evil.process", "reference-transaction"] {
        assert!(ran.iter().any(|name| name.contains(expected)), "{expected} is not among {ran:?}");
    }
}

#[test]
fn missing_objects_are_not_fetched_by_a_command_of_the_clone() {
    let world = World::new();
    let clone = world.clone("dev");
    write(&clone, "lost.txt", "lost\n");
    git(&clone, &["add", "-A"]);
    git(&clone, &["commit", "-qm", "lost"]);
    let blob = git(&clone, &["rev-parse", "HEAD:lost.txt"]);
    let (script, sign) = canary(&world.path(""), "promisor");
    std::fs::remove_file(clone.join(".git/objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    for (key, value) in [
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "evil"),
        ("remote.evil.promisor", "true"),
        ("remote.evil.url", world.repo.path().to_str().unwrap()),
        ("remote.evil.uploadpack", script.to_str().unwrap()),
    ] {
        git(&clone, &["config", key, value]);
    }
    let before = world.repo.list_refs("refs").unwrap();
    assert!(matches!(world.repo.fetch_work(&clone, "dev"), Err(FetchError::Broken { .. })));
    assert!(!sign.exists());
    assert_eq!(world.repo.list_refs("refs").unwrap(), before);
}

#[test]
fn a_clone_that_points_to_another_repository_is_refused() {
    let world = World::new();
    let secret = world.path("secret");
    std::fs::create_dir(&secret).unwrap();
    git(&secret, &["init", "-q", "-b", "dev"]);
    write(&secret, "key.txt", "secret");
    git(&secret, &["add", "-A"]);
    git(&secret, &["commit", "-qm", "secret"]);
    let secret_git = secret.join(".git");
    let tricks: [Attack<'_>; 5] = [
        ("link", &|clone: &Path| {
            std::fs::remove_dir_all(clone.join(".git")).unwrap();
            std::os::unix::fs::symlink(&secret_git, clone.join(".git")).unwrap();
        }),
        ("file", &|clone: &Path| {
            std::fs::remove_dir_all(clone.join(".git")).unwrap();
            write(clone, ".git", &format!("gitdir: {}\n", secret_git.display()));
        }),
        ("commondir", &|clone: &Path| write(clone, ".git/commondir", secret_git.to_str().unwrap())),
        ("alternates", &|clone: &Path| {
            let line = secret_git.join("objects");
            write(clone, ".git/objects/info/alternates", line.to_str().unwrap());
        }),
        ("objects", &|clone: &Path| {
            std::fs::remove_dir_all(clone.join(".git/objects")).unwrap();
            std::os::unix::fs::symlink(secret_git.join("objects"), clone.join(".git/objects")).unwrap();
        }),
    ];
    let head = git(&secret, &["rev-parse", "HEAD"]);
    for (name, trick) in tricks {
        let clone = world.clone(name);
        trick(&clone);
        let refused = world.repo.fetch_work(&clone, name);
        assert!(matches!(refused, Err(FetchError::Broken { .. })), "{name}: {refused:?}");
    }
    assert_eq!(world.repo.resolve(&head).ok().flatten(), None);
}

#[test]
fn bad_objects_and_strange_branches_are_refused() {
    let world = World::new();
    let clone = world.clone("dev");
    let tree = git(&clone, &["rev-parse", "HEAD^{tree}"]);
    write(&clone, "bad", &format!("tree {tree}\nauthor nobody\ncommitter nobody\n\nbad\n"));
    let bad = git(&clone, &["hash-object", "-t", "commit", "-w", "--literally", "bad"]);
    write(&clone, ".git/refs/heads/dev", &bad);
    let refused = world.repo.fetch_work(&clone, "dev");
    assert!(matches!(refused, Err(FetchError::Broken { .. })), "{refused:?}");
    let blob = git(&clone, &["hash-object", "-w", "bad"]);
    write(&clone, ".git/refs/heads/dev", &blob);
    let refused = world.repo.fetch_work(&clone, "dev");
    assert!(matches!(refused, Err(FetchError::Broken { .. })), "{refused:?}");
    assert!(matches!(world.repo.fetch_work(&clone, "--upload-pack=x"), Err(FetchError::Git(_))));
}

#[test]
fn a_clone_that_hides_its_history_or_is_too_large_is_refused() {
    let world = World::new();
    let clone = world.clone("dev");
    git(&clone, &["commit", "-q", "--allow-empty", "-m", "one"]);
    let known = world.repo.fetch_work(&clone, "dev").unwrap().head;
    git(&clone, &["commit", "-q", "--allow-empty", "-m", "two"]);
    let head = git(&clone, &["rev-parse", "HEAD"]);
    write(&clone, ".git/shallow", &format!("{head}\n"));
    let refused = world.repo.fetch_work(&clone, "dev");
    assert!(matches!(refused, Err(FetchError::Broken { .. })), "{refused:?}");
    assert!(!world.repo.path().join("shallow").exists());
    assert_eq!(world.repo.resolve("refs/windlass/work/dev").unwrap(), Some(known));
    std::fs::remove_file(clone.join(".git/shallow")).unwrap();

    let mut state = 88_172_645_463_325_252_u64;
    let mut noise = Vec::with_capacity(3_000_000);
    while noise.len() < 3_000_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        noise.extend(state.to_le_bytes());
    }
    std::fs::write(clone.join("noise"), noise).unwrap();
    git(&clone, &["add", "-A"]);
    git(&clone, &["commit", "-qm", "noise"]);
    let small = world.repo.clone().with_fetch_limit(1 << 20);
    let refused = small.fetch_work(&clone, "dev");
    assert!(matches!(refused, Err(FetchError::Broken { .. })), "{refused:?}");
    assert!(world.repo.fetch_work(&clone, "dev").is_ok());
}

fn plant(clone: &Path, signs: &Path) {
    for (key, value) in SETTINGS {
        let (script, _) = canary(signs, key);
        git(clone, &["config", key, &value.replace("{}", script.to_str().unwrap())]);
    }
    for hook in HOOKS {
        let (script, _) = canary(signs, hook);
        std::fs::create_dir_all(clone.join(".git/hooks")).unwrap();
        std::fs::copy(script, clone.join(".git/hooks").join(hook)).unwrap();
    }
}

fn canaries(signs: &Path) -> Vec<String> {
    let all = std::fs::read_dir(signs)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    all.filter(|name| name.starts_with("canary-")).collect()
}
