//! Observes, executes and resumes plans: the only place that runs steps.
