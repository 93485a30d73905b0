//! The bounds of an evaluation. Macros such as `all` and `map` are loops. Each step of a loop is counted, and when there have been too
//! many, or the time is over, every loop ends at its next step.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cel::common::ast::operators::{ADD, CONDITIONAL, LOGICAL_AND};
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue};
use cel::{ExecutionError, Value};
use slipway_limits::count::{EXPRESSION_SECONDS, EXPRESSION_STEPS};

use crate::error::Error;

/// The function that counts a step, and is true while another one is allowed. No expression can contain its name.
pub(crate) const STEP: &str = "@step";

/// The function that counts a value which is made of others, and returns it. No expression can contain its name.
pub(crate) const MADE: &str = "@made";

/// The largest size of all values that an evaluation makes of others, in bytes.
const MOST_BYTES: usize = 64 << 20;

/// What an evaluation may still take.
#[derive(Debug)]
pub(crate) struct Budget {
    steps: AtomicU64,
    most_steps: u64,
    bytes: AtomicUsize,
    end: Instant,
    is_late: AtomicBool,
}

impl Budget {
    /// The budget of one evaluation, which begins now.
    pub(crate) fn new() -> Self {
        Self::of(EXPRESSION_STEPS, Duration::from_secs(EXPRESSION_SECONDS))
    }

    /// A budget of this many steps, and of this time from now on.
    pub(crate) fn of(most_steps: u64, time: Duration) -> Self {
        Self {
            steps: AtomicU64::new(0),
            most_steps,
            bytes: AtomicUsize::new(0),
            end: Instant::now() + time,
            is_late: AtomicBool::new(false),
        }
    }

    /// Counts a step, and returns whether it is allowed.
    pub(crate) fn step(&self) -> bool {
        if Instant::now() > self.end {
            self.is_late.store(true, Ordering::Relaxed);
        }
        let before = self.steps.fetch_add(1, Ordering::Relaxed);
        before < self.most_steps && !self.is_late.load(Ordering::Relaxed)
    }

    /// Counts a value that was made of others, and returns it.
    pub(crate) fn made(&self, value: Value) -> Result<Value, ExecutionError> {
        let size = size(&value);
        let before = self.bytes.fetch_add(size, Ordering::Relaxed);
        match before.saturating_add(size) > MOST_BYTES {
            true => Err(ExecutionError::function_error("+", "the values are too large")),
            false => Ok(value),
        }
    }

    /// The error of an evaluation that had not enough. Its result is meaningless.
    pub(crate) fn exceeded(&self) -> Option<Error> {
        if self.bytes.load(Ordering::Relaxed) > MOST_BYTES {
            return Some(Error::TooLarge { most: MOST_BYTES >> 20 });
        }
        if self.is_late.load(Ordering::Relaxed) {
            return Some(Error::TooSlow { seconds: EXPRESSION_SECONDS });
        }
        let is_over = self.steps.load(Ordering::Relaxed) > self.most_steps;
        is_over.then_some(Error::TooManySteps { most: self.most_steps })
    }
}

/// Lets all loops of an expression count their steps.
pub(crate) fn count_steps(expression: &mut IdedExpr) {
    match &mut expression.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
        Expr::Call(call) => {
            call.target.as_deref_mut().into_iter().chain(&mut call.args).for_each(count_steps);
        }
        Expr::List(list) => {
            for element in &mut list.elements {
                count_steps(element);
                count_made(element);
            }
        }
        Expr::Select(select) => count_steps(&mut select.operand),
        Expr::Map(map) => map.entries.iter_mut().for_each(|entry| count_steps_of_entry(&mut entry.expr)),
        Expr::Struct(made) => {
            made.entries.iter_mut().for_each(|entry| count_steps_of_entry(&mut entry.expr));
        }
        Expr::Comprehension(comprehension) => {
            let ComprehensionExpr { iter_range, accu_init, loop_cond, loop_step, result, .. } =
                &mut **comprehension;
            [iter_range, accu_init, loop_cond, loop_step, result].into_iter().for_each(count_steps);
            count_steps_of_loop(comprehension);
        }
    }
    if is_sum(&expression.expr) {
        count_made(expression);
    }
}

/// Whether an expression joins two values. The step of a loop, whose form must stay, does not count: its element does.
fn is_sum(expression: &Expr) -> bool {
    let Expr::Call(call) = expression else { return false };
    let is_of_loop = |first: &IdedExpr| matches!(&first.expr, Expr::Ident(name) if name.starts_with('@'));
    call.func_name == ADD && !call.args.first().is_some_and(is_of_loop)
}

/// Lets a value that is made of others be counted.
fn count_made(expression: &mut IdedExpr) {
    if !matches!(expression.expr, Expr::Literal(_)) {
        let made = std::mem::take(expression);
        expression.expr = call(MADE, vec![made]);
    }
}

/// About how many bytes a value takes.
fn size(value: &Value) -> usize {
    const EACH: usize = 64;
    let content = match value {
        Value::List(items) => items.iter().map(size).sum(),
        Value::Map(map) => map.map.values().map(|value| EACH + size(value)).sum(),
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    EACH + content
}

fn count_steps_of_entry(entry: &mut EntryExpr) {
    match entry {
        EntryExpr::StructField(field) => count_steps(&mut field.value),
        EntryExpr::MapEntry(entry) => {
            count_steps(&mut entry.key);
            count_steps(&mut entry.value);
            count_made(&mut entry.value);
        }
    }
}

/// Lets one loop count its steps. The interpreter appends to a list in place only where the condition of a loop is a literal and its
/// step has a known form, so the count is put inside of such a step.
fn count_steps_of_loop(comprehension: &mut ComprehensionExpr) {
    if matches!(comprehension.loop_cond.expr, Expr::Literal(_))
        && let Expr::Call(step) = &mut comprehension.loop_step.expr
    {
        match (step.func_name.as_str(), step.args.as_mut_slice()) {
            (CONDITIONAL, [condition, _, _]) => return and_step(condition),
            (ADD, [_, IdedExpr { expr: Expr::List(list), .. }]) => {
                if let [element] = list.elements.as_mut_slice() {
                    let made = std::mem::take(element);
                    element.expr = call(CONDITIONAL, vec![step_call(), made, literal_null()]);
                    return;
                }
            }
            _ => {}
        }
    }
    and_step(&mut comprehension.loop_cond);
}

/// Makes a condition false when no step is left.
fn and_step(condition: &mut IdedExpr) {
    let before = std::mem::take(condition);
    condition.expr = call(LOGICAL_AND, vec![step_call(), before]);
}

fn step_call() -> IdedExpr {
    IdedExpr { id: 0, expr: call(STEP, Vec::new()) }
}

fn literal_null() -> IdedExpr {
    IdedExpr { id: 0, expr: Expr::Literal(LiteralValue::Null) }
}

fn call(function: &str, args: Vec<IdedExpr>) -> Expr {
    Expr::Call(CallExpr { func_name: function.to_owned(), target: None, args })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_used_up_by_steps_or_by_time() {
        let two = Budget::of(2, Duration::from_secs(60));
        assert!(two.step() && two.step() && two.exceeded().is_none());
        assert!(!two.step());
        assert!(matches!(two.exceeded(), Some(Error::TooManySteps { most: 2 })));
        let late = Budget::of(2, Duration::ZERO);
        std::thread::sleep(Duration::from_millis(2));
        assert!(!late.step());
        assert!(matches!(late.exceeded(), Some(Error::TooSlow { .. })));
    }
}
