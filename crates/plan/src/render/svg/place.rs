//! The positions of all items in the picture, in pixels.

use super::super::clean::{columns, shorten};
use super::super::graph::{Drawing, Node};
use super::layer::Layers;
use super::order::number;

/// Width of a character of the fixed-width fonts, at the size that boxes are written in, rounded up.
const CHARACTER: f64 = 7.0;
/// Longest text of a box in characters.
const LONGEST: usize = 40;
/// Space inside a box, left and right.
pub(super) const PADDING: f64 = 10.0;
/// Height of a box.
pub(super) const HEIGHT: f64 = 40.0;
/// Space between two boxes of a layer, and around what passes.
const GAP: f64 = 14.0;
/// Space between two layers, for the curves.
const CHANNEL: f64 = 56.0;
/// Space around the picture.
const MARGIN: f64 = 20.0;
/// Space for the heading without its further lines.
const HEADING: f64 = 26.0;
/// Height of each of those lines, and the width of a character in them.
const LINE: (f64, f64) = (16.0, 6.6);
/// How often the places are drawn towards their neighbours.
const ROUNDS: usize = 8;

/// The positions of the items.
#[derive(Clone, Debug, Default)]
pub(super) struct Picture {
    /// Left edge of each layer.
    pub(super) left: Vec<f64>,
    /// Width of the boxes of each layer.
    pub(super) width: Vec<f64>,
    /// Middle of each item, from the top.
    pub(super) middle: Vec<f64>,
    /// Size of the whole.
    pub(super) size: (f64, f64),
}

/// The three texts of a box, cut to its width: the action, its duration, its subject.
pub(super) fn texts(node: &Node) -> [String; 3] {
    let room = LONGEST.saturating_sub(columns(&node.verb) + 2);
    let remark = if columns(&node.remark) <= room { node.remark.clone() } else { String::new() };
    [shorten(&node.verb, LONGEST).into_owned(), remark, shorten(&node.subject, LONGEST).into_owned()]
}

/// Finds a place for every item: layers from left to right, inside a layer in its order, each item as near as
/// can be to the mean of its neighbours. Above it is room for a heading with the lines of the summary, if there is one.
pub(super) fn place(drawing: &Drawing, layers: &Layers, summary: Option<&[String]>) -> Picture {
    let mut picture = Picture { middle: vec![0.0; layers.items.len()], ..Picture::default() };
    let heading = summary.map_or(0.0, |summary| HEADING + number(summary.len()) * LINE.0);
    let mut left = MARGIN;
    for layer in &layers.layers {
        let widest = layer.iter().filter_map(|item| drawing.nodes.get(layers.items.get(*item)?.node?));
        let widest = widest.map(width).max().unwrap_or(4);
        let width = number(widest) * CHARACTER + 2.0 * PADDING;
        picture.left.push(left);
        picture.width.push(width);
        // Where many edges turn, they get more room.
        let edges: usize =
            layer.iter().filter_map(|item| layers.items.get(*item)).map(|item| item.after.len()).sum();
        left += width + CHANNEL + number(edges.min(60));
    }
    for layer in &layers.layers {
        stack(layers, layer, &mut picture.middle, None);
    }
    for round in 0..ROUNDS {
        let forwards = round % 2 == 0;
        for index in 0..layers.layers.len() {
            let index = if forwards { index } else { layers.layers.len() - 1 - index };
            if let Some(layer) = layers.layers.get(index) {
                stack(layers, layer, &mut picture.middle, Some(forwards));
            }
        }
    }
    let top = picture.middle.iter().copied().fold(f64::INFINITY, f64::min);
    let shift = if top.is_finite() { MARGIN + heading + HEIGHT / 2.0 - top } else { 0.0 };
    picture.middle.iter_mut().for_each(|middle| *middle += shift);
    let bottom = picture.middle.iter().copied().fold(MARGIN + heading, f64::max);
    let text = summary.into_iter().flatten().map(|line| columns(line)).max().unwrap_or(0);
    let least = MARGIN + number(text) * LINE.1;
    let right =
        picture.left.iter().zip(&picture.width).map(|(left, width)| left + width).fold(least, f64::max);
    picture.size = (right + MARGIN, bottom + HEIGHT / 2.0 + MARGIN);
    picture
}

fn width(node: &Node) -> usize {
    let [verb, remark, subject] = texts(node);
    let first = columns(&verb) + if remark.is_empty() { 0 } else { 2 + columns(&remark) };
    first.max(columns(&subject))
}

/// Places one layer: minimises the squares of the distances from the preferred places, with the order and the
/// gaps kept.
fn stack(layers: &Layers, layer: &[usize], middle: &mut [f64], forwards: Option<bool>) {
    let mut offset = 0.0;
    let mut last_height = 0.0;
    // Blocks of items that touch: the sum of their wishes, how many, and where in the layer they begin.
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    let mut offsets = Vec::with_capacity(layer.len());
    for (position, item) in layer.iter().enumerate() {
        let Some(found) = layers.items.get(*item) else { continue };
        let height = if found.node.is_some() { HEIGHT } else { 2.0 };
        if position > 0 {
            offset += (last_height + height) / 2.0 + GAP;
        }
        last_height = height;
        offsets.push(offset);
        let around = match forwards {
            None => &[][..],
            Some(true) => &found.before,
            Some(false) => &found.after,
        };
        let own = middle.get(*item).copied().unwrap_or(0.0);
        let wish = match (forwards, around.len()) {
            (None, _) => offset,
            (_, 0) => own,
            (_, count) => around.iter().filter_map(|near| middle.get(*near)).sum::<f64>() / number(count),
        };
        blocks.push((wish - offset, 1.0, position));
        while let [.., (earlier, many, start), (later, few, _)] = blocks.as_slice() {
            if earlier / many <= later / few {
                break;
            }
            let merged = (earlier + later, many + few, *start);
            blocks.truncate(blocks.len() - 2);
            blocks.push(merged);
        }
    }
    let mut ends: Vec<usize> = blocks.iter().skip(1).map(|block| block.2).collect();
    ends.push(layer.len());
    for ((sum, count, start), end) in blocks.into_iter().zip(ends) {
        let base = sum / count;
        for (item, offset) in layer.iter().zip(&offsets).take(end).skip(start) {
            if let Some(place) = middle.get_mut(*item) {
                *place = base + offset;
            }
        }
    }
}
