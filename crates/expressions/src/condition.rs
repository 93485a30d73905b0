//! A condition: its text, checked, and its evaluation.

use std::sync::Arc;
use std::thread;

use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::{Context, Env, Value};
use serde_json::Value as Json;
use slipway_limits::count::EXPRESSION_DEPTH;
use slipway_limits::size::EXPRESSION;

use crate::error::Error;
use crate::steps::{Budget, MADE, STEP, count_steps};
use crate::value::value;

/// The stack of the interpreter, in bytes. It is recursive, and a text of the largest size can be one chain of operators.
const STACK: usize = 64 << 20;

/// The names of types, which expressions use as in `type(x) == int`, and of the namespace of optional values.
const NAMES: [&str; 11] =
    ["bool", "bytes", "double", "dyn", "int", "list", "map", "null_type", "optional", "string", "uint"];

/// An expression that is true or false. Its syntax and its variables are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    text: String,
}

impl Condition {
    /// Checks the text of an expression that uses these variables.
    ///
    /// # Errors
    /// [`Error::TooLong`], [`Error::Syntax`] and [`Error::UnknownVariable`].
    pub fn parse(text: &str, variables: &[&str]) -> Result<Self, Error> {
        if text.len() > EXPRESSION.in_memory() {
            return Err(Error::TooLong);
        }
        on_its_own_stack(|| check(&parsed(text)?, variables))?;
        Ok(Self { text: text.to_owned() })
    }

    /// The text of the expression.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Evaluates the expression with these values of its variables. It blocks the thread for as long as the limit at most.
    ///
    /// # Errors
    /// [`Error::Evaluation`] for fields that do not exist and for values of another type, [`Error::NotBoolean`], and
    /// [`Error::TooManySteps`], [`Error::TooLarge`] or [`Error::TooSlow`] beyond the limits.
    pub fn holds(&self, variables: &[(&str, &Json)]) -> Result<bool, Error> {
        on_its_own_stack(|| evaluate(parsed(&self.text)?, variables, Budget::new()))
    }
}

/// Runs a task of the interpreter on a thread with a large stack.
fn on_its_own_stack<T: Send>(task: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    thread::scope(|scope| {
        let interpreter = thread::Builder::new().name("expression".to_owned()).stack_size(STACK);
        let running = interpreter.spawn_scoped(scope, task).map_err(|_| Error::Interpreter)?;
        running.join().unwrap_or(Err(Error::Interpreter))
    })
}

fn parsed(text: &str) -> Result<IdedExpr, Error> {
    let parser = Env::stdlib().parser().max_recursion_depth(EXPRESSION_DEPTH);
    parser.parse(text).map_err(|errors| Error::syntax(&errors))
}

fn evaluate(mut expression: IdedExpr, variables: &[(&str, &Json)], budget: Budget) -> Result<bool, Error> {
    count_steps(&mut expression);
    let budget = Arc::new(budget);
    let mut context = Context::default();
    for (name, json) in variables {
        context.add_variable_from_value(*name, value(json));
    }
    let counted = Arc::clone(&budget);
    context.add_function(STEP, move || counted.step()).map_err(|_| Error::Interpreter)?;
    let counted = Arc::clone(&budget);
    context.add_function(MADE, move |value: Value| counted.made(value)).map_err(|_| Error::Interpreter)?;
    let result = Value::resolve(&expression, &context);
    if let Some(error) = budget.exceeded() {
        return Err(error);
    }
    match result {
        Ok(Value::Bool(holds)) => Ok(holds),
        Ok(_) => Err(Error::NotBoolean),
        Err(error) => Err(Error::evaluation(&error)),
    }
}

/// Checks that an expression uses no other variables than these and those of its own loops.
fn check(expression: &IdedExpr, variables: &[&str]) -> Result<(), Error> {
    let mut loops = Vec::new();
    variables_of_loops(expression, &mut loops);
    let references = expression.references();
    let mut used = references.variables();
    used.sort_unstable();
    let is_known = |name: &str| variables.contains(&name) || loops.contains(&name) || NAMES.contains(&name);
    match used.into_iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => Err(Error::UnknownVariable { name: name.to_owned(), known: quoted(variables) }),
    }
}

/// Names in a sentence.
fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// The variables that the loops of an expression define.
fn variables_of_loops<'e>(expression: &'e IdedExpr, found: &mut Vec<&'e str>) {
    match &expression.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
        Expr::Call(call) => {
            call.target
                .as_deref()
                .into_iter()
                .chain(&call.args)
                .for_each(|part| variables_of_loops(part, found));
        }
        Expr::List(list) => list.elements.iter().for_each(|element| variables_of_loops(element, found)),
        Expr::Select(select) => variables_of_loops(&select.operand, found),
        Expr::Map(map) => map.entries.iter().for_each(|entry| variables_of_entry(&entry.expr, found)),
        Expr::Struct(made) => made.entries.iter().for_each(|entry| variables_of_entry(&entry.expr, found)),
        Expr::Comprehension(comprehension) => {
            found.push(&comprehension.iter_var);
            found.extend(comprehension.iter_var2.as_deref());
            for part in [&comprehension.iter_range, &comprehension.loop_step, &comprehension.result] {
                variables_of_loops(part, found);
            }
        }
    }
}

fn variables_of_entry<'e>(entry: &'e EntryExpr, found: &mut Vec<&'e str>) {
    match entry {
        EntryExpr::StructField(field) => variables_of_loops(&field.value, found),
        EntryExpr::MapEntry(entry) => {
            variables_of_loops(&entry.key, found);
            variables_of_loops(&entry.value, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn result(text: &str, value: &Json) -> Result<bool, Error> {
        Condition::parse(text, &["v"]).unwrap().holds(&[("v", value)])
    }

    fn within(text: &str, value: &Json, budget: Budget) -> Result<bool, Error> {
        on_its_own_stack(|| evaluate(parsed(text)?, &[("v", value)], budget))
    }

    #[test]
    fn conditions_are_evaluated() {
        let value = json!({ "replicas": 3, "share": 0.5, "large": u64::MAX, "pods": [
            { "name": "a-0", "labels": { "app": "a" }, "restarts": 0 },
            { "name": "b-0", "labels": {}, "restarts": 4 },
        ] });
        for (text, expected) in [
            ("v.replicas == 3 && v.replicas + 1 > 3", true),
            ("v.share < 0.6", true),
            ("v.large > 1u", true),
            ("v.pods.all(p, p.restarts < 4)", false),
            ("v.pods.exists(p, p.name.startsWith('b-'))", true),
            ("v.pods.exists_one(p, has(p.labels.app))", true),
            ("v.pods.filter(p, p.restarts > 0).map(p, p.name) == ['b-0']", true),
            ("v.pods.map(p, p.restarts > 0, p.name) == ['b-0']", true),
            ("v.pods.all(p, v.pods.exists(q, q.name == p.name))", true),
            ("v.pods[0].name.matches('^[a-z]-[0-9]$')", true),
            ("size(v.pods) == 2 && type(v.replicas) == int", true),
            ("'replicas' in v && !('other' in v)", true),
            ("[].all(p, false)", true),
        ] {
            assert_eq!(result(text, &value).ok(), Some(expected), "{text}: {:?}", result(text, &value));
        }
    }

    #[test]
    fn a_field_that_does_not_exist_and_a_wrong_type_are_errors() {
        let value = json!({ "a": 1 });
        let message = |text: &str| result(text, &value).unwrap_err().to_string();
        assert!(message("v.b == 1").contains("the field `b` does not exist"), "{}", message("v.b == 1"));
        assert!(message("v.a.c == 1").contains("cannot be evaluated"));
        assert!(message("v.a > 'x'").contains("cannot be evaluated"));
        assert!(message("lower('x') == 'x'").contains("`lower` is neither a function nor a variable"));
        assert!(message("v.a").contains("neither true nor false"));
    }

    #[test]
    fn texts_are_checked_before_they_are_used() {
        let error = |text: &str| Condition::parse(text, &["objects", "count"]).unwrap_err().to_string();
        assert!(error("objects.all(o, ").contains("not valid CEL"), "{}", error("objects.all(o, "));
        let unknown = error("objects.all(o, p.ready)");
        assert_eq!(unknown, "the expression uses the variable `p`, and has only `objects`, `count`");
        let long = format!("count == {}", "1 + ".repeat(2000) + "1");
        assert_eq!(error(&long), "the expression is longer than 4 KiB");
        assert!(error(&format!("{}true{}", "(".repeat(200), ")".repeat(200))).contains("not valid CEL"));
        assert_eq!(Condition::parse("count > 0", &["count"]).unwrap().text(), "count > 0");
    }

    #[test]
    fn long_chains_do_not_exhaust_the_stack() {
        let chain = format!("v == 1{}", " + 1".repeat(300));
        assert_eq!(result(&chain, &json!(301)).ok(), Some(true));
        assert_eq!(result(&format!("{}true", "!".repeat(600)), &Json::Null).ok(), Some(true));
    }

    #[test]
    fn loops_end_when_they_have_too_many_steps() {
        let value = json!((0..300).collect::<Vec<_>>());
        for text in [
            "v.all(a, v.all(b, v.all(c, true)))",
            "v.exists(a, v.exists(b, v.exists(c, false)))",
            "size(v.map(a, v.map(b, v.map(c, c)))) == 300",
            "size(v.filter(a, v.exists_one(b, v.exists(c, c == -1)))) == 0",
        ] {
            let error = within(text, &value, Budget::of(10_000, Duration::from_secs(600))).unwrap_err();
            assert!(matches!(error, Error::TooManySteps { most: 10_000 }), "{text}: {error:?}");
            assert!(
                within(text, &json!([1]), Budget::of(10_000, Duration::from_secs(600))).is_ok(),
                "{text}"
            );
        }
        let late = within("v.all(a, true)", &value, Budget::of(10_000, Duration::ZERO)).unwrap_err();
        assert!(matches!(late, Error::TooSlow { .. }), "{late:?}");
    }
}
