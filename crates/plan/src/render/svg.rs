//! The steps' graph as a picture: layers from left to right, boxes coloured by action.

mod draw;
mod layer;
mod order;
mod place;

use super::graph::{Drawing, gathered};
use crate::file::Plan;
use draw::Link;

/// How many boxes a picture has at most before steps are gathered.
const BOXES: usize = 400;

/// How many boxes a chain has at most before the gates of one machine, then of one resource, are gathered.
const CHAIN: usize = 12;

/// The graph of the steps as an SVG document that loads no other files. Large plans are gathered: first the gates of
/// each machine, then those of each resource, then the steps of each type.
#[must_use]
pub fn svg(plan: &Plan) -> String {
    let drawing = gathered(plan, BOXES, CHAIN);
    let mut layers = layer::layers(&drawing);
    order::order(&mut layers);
    let summary = draw::summary(plan, &drawing);
    let picture = place::place(&drawing, &layers, Some(&summary));
    draw::draw(plan, &drawing, &layers, &picture, &summary)
}

/// A graph as an element of a page, which colours it. Its boxes lead to the elements that `link` names.
pub(super) fn element(drawing: &Drawing, label: &str, link: &Link<'_>) -> String {
    let mut layers = layer::layers(drawing);
    order::order(&mut layers);
    let picture = place::place(drawing, &layers, None);
    draw::element(drawing, &layers, &picture, label, link)
}
