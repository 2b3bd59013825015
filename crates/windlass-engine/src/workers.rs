//! A few threads that do what takes time, so that the heart never waits.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

type Job = Box<dyn FnOnce() + Send>;

#[derive(Debug)]
pub struct Workers {
    jobs: Sender<Job>,
}

impl Workers {
    pub fn start(count: usize) -> std::io::Result<Self> {
        let (jobs, work) = channel::<Job>();
        let work = Arc::new(Mutex::new(work));
        for nth in 0..count {
            let work = Arc::clone(&work);
            std::thread::Builder::new().name(format!("worker-{nth}")).spawn(move || run(&work))?;
        }
        Ok(Self { jobs })
    }

    pub fn submit(&self, job: impl FnOnce() + Send + 'static) {
        // The threads live as long as the sender: the send cannot fail while `self` exists.
        if self.jobs.send(Box::new(job)).is_err() {
            tracing::error!("no worker is left");
        }
    }
}

fn run(work: &Mutex<Receiver<Job>>) {
    loop {
        let job = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match job {
            Ok(job) => job(),
            Err(_) => return,
        }
    }
}
