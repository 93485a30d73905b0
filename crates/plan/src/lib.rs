//! The planner, the plan file and its renderings.
