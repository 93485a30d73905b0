//! The order of the items in each layer, so that few edges cross.

use super::layer::{Item, Layers};

/// How often the layers are gone through.
const SWEEPS: usize = 12;

/// Sorts every layer by the mean place of its neighbours, forwards and backwards in turn, and keeps the best
/// order found.
pub(super) fn order(layers: &mut Layers) {
    let mut best = layers.layers.clone();
    let mut fewest = crossings(layers);
    for sweep in 0..SWEEPS {
        if fewest == 0 {
            break;
        }
        let count = layers.layers.len();
        for step in 1..count {
            let (own, other) =
                if sweep % 2 == 0 { (step, step - 1) } else { (count - 1 - step, count - step) };
            sort(layers, own, other, if sweep % 2 == 0 { |item| &item.before } else { |item| &item.after });
        }
        let crossed = crossings(layers);
        if crossed < fewest {
            fewest = crossed;
            best.clone_from(&layers.layers);
        }
    }
    layers.layers = best;
}

fn sort(layers: &mut Layers, own: usize, other: usize, neighbours: fn(&Item) -> &Vec<usize>) {
    let places = places(layers, other);
    let Some(layer) = layers.layers.get_mut(own) else { return };
    let mut keyed: Vec<(f64, usize)> = layer
        .iter()
        .enumerate()
        .map(|(position, item)| {
            let around: Vec<f64> = layers
                .items
                .get(*item)
                .map(neighbours)
                .into_iter()
                .flatten()
                .filter_map(|neighbour| places.get(*neighbour).copied().flatten())
                .map(number)
                .collect();
            let mean = if around.is_empty() {
                number(position)
            } else {
                around.iter().sum::<f64>() / number(around.len())
            };
            (mean, *item)
        })
        .collect();
    keyed.sort_by(|left, right| left.0.total_cmp(&right.0));
    *layer = keyed.into_iter().map(|(_, item)| item).collect();
}

fn places(layers: &Layers, layer: usize) -> Vec<Option<usize>> {
    let mut places = vec![None; layers.items.len()];
    for (position, item) in layers.layers.get(layer).into_iter().flatten().enumerate() {
        if let Some(place) = places.get_mut(*item) {
            *place = Some(position);
        }
    }
    places
}

/// How many edges cross, counted layer by layer.
fn crossings(layers: &Layers) -> usize {
    (1..layers.layers.len())
        .map(|layer| {
            let places = places(layers, layer - 1);
            let ends: Vec<usize> = layers
                .layers
                .get(layer)
                .into_iter()
                .flatten()
                .flat_map(|item| {
                    let before =
                        layers.items.get(*item).map(|item| item.before.as_slice()).unwrap_or_default();
                    let mut starts: Vec<usize> =
                        before.iter().filter_map(|earlier| places.get(*earlier).copied().flatten()).collect();
                    starts.sort_unstable();
                    starts
                })
                .collect();
            inversions(&ends)
        })
        .sum()
}

/// The number of inverted pairs, counted with a tree.
fn inversions(values: &[usize]) -> usize {
    let size = values.iter().max().map_or(0, |most| most + 2);
    let mut tree = vec![0_usize; size + 1];
    let mut sum = 0;
    for (seen, value) in values.iter().enumerate() {
        let mut not_above = 0;
        let mut index = value + 1;
        while index > 0 {
            not_above += tree.get(index).copied().unwrap_or(0);
            index &= index - 1;
        }
        sum += seen - not_above;
        let mut index = value + 1;
        while let Some(count) = tree.get_mut(index) {
            *count += 1;
            index += index & index.wrapping_neg();
        }
    }
    sum
}

#[expect(clippy::cast_precision_loss, reason = "places in a picture of some hundred boxes")]
pub(super) fn number(value: usize) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_stands_the_wrong_way_round() {
        assert_eq!(inversions(&[0, 1, 2]), 0);
        assert_eq!(inversions(&[2, 1, 0]), 3);
        assert_eq!(inversions(&[1, 1, 0, 5]), 2);
    }
}
