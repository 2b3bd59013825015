//! Writes identities, hooks and the queue out as JSON files, for people and other tools. The database stays the truth.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use windlass_adapters::files;
use windlass_core::task::Task;

use crate::layout::Layout;
use crate::record::Mirror;

/// What the mirror thread is asked to write.
#[derive(Debug)]
pub enum Page {
    Record(Mirror),
    Queue(Value),
}

/// The thread that writes. Whoever drops it waits until the last page is written: a process that ends in the middle of
/// one would leave half a file.
#[derive(Debug)]
pub struct Writer {
    pages: Option<Sender<Page>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub fn start(layout: Layout) -> std::io::Result<Self> {
        let (send, pages) = channel();
        let thread = std::thread::Builder::new().name("mirror".into()).spawn(move || run(&layout, &pages))?;
        Ok(Self { pages: Some(send), thread: Some(thread) })
    }

    pub fn write(&self, page: Page) {
        if let Some(pages) = &self.pages {
            // A writer that is gone has said why; the database has the truth.
            drop(pages.send(page));
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.pages = None;
        if let Some(thread) = self.thread.take() {
            // It does not panic, and if it did there would be nothing left to wait for.
            drop(thread.join());
        }
    }
}

fn run(layout: &Layout, pages: &Receiver<Page>) {
    for page in pages {
        let written = match &page {
            Page::Record(Mirror::Identity(identity)) => {
                write(&layout.session(&identity.name), "identity.json", identity.as_ref())
            }
            Page::Record(Mirror::Hook(hook)) => {
                write(&layout.session(&hook.identity_name), "hook.json", hook.as_ref())
            }
            Page::Queue(queue) => files::write_json(&layout.queue_mirror(), queue),
        };
        if let Err(error) = written {
            tracing::warn!(error = %windlass_core::text::causes(&error), "cannot write a mirror file");
        }
    }
}

fn write<T: serde::Serialize>(
    folder: &std::path::Path,
    name: &str,
    value: &T,
) -> Result<(), files::FileError> {
    files::private_dir(folder)?;
    files::write_json(&folder.join(name), value)
}

/// The queue in the words of the seeds: each task with how it stands, the first to land first.
pub fn queue(layout: &Layout, entries: &[(&Task, &'static str)]) -> Value {
    let entries = entries.iter().map(|(task, status)| {
        json!({
            "identity_name": task.session,
            "branch": task.branch,
            "worktree_path": layout.workspace(&task.id),
            "pr_number": task.change,
            "bead_id": task.bead_id,
            "node_id": task.node_id,
            "requested_at": task.since,
            "status": status,
        })
    });
    Value::Array(entries.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_that_is_dropped_has_written_its_last_page() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let layout = Layout::new(folder.path().to_owned());
        let writer = Writer::start(layout.clone()).expect("a thread can be started");
        for nth in 0..200 {
            writer.write(Page::Queue(json!([nth])));
        }
        drop(writer);
        let text = std::fs::read_to_string(layout.queue_mirror()).expect("the file is there");
        assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(json!([199])));
        let files = std::fs::read_dir(folder.path()).expect("it can be listed").count();
        assert_eq!(files, 1, "nothing half made is left");
    }
}
