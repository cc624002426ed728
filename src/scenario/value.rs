//! Values before the run: their formula, their unit, and the bounds that are known of them.

use super::{Broken, Formula, Operator, Unit};

/// A value with what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) formula: Formula,
    pub(super) unit: Unit,
    /// What is known before the run; `None` for a value that depends on the run.
    pub(super) bounds: Option<Bounds>,
}

/// The bounds of a value that depends on nothing but constants and loop variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) low: i128,
    pub(super) high: i128,
    /// The loops that it depends on: bit `n` for the loop at depth `n`. (Nesting is limited to 64.)
    pub(super) loops: u64,
}

impl Bounds {
    pub(super) fn exactly(value: i128) -> Self {
        Self { low: value, high: value, loops: 0 }
    }

    /// The bounds of a combination. Those of a division need a divisor that is never 0.
    fn combine(self, operator: Operator, other: Self) -> Result<Self, Broken> {
        if matches!(operator, Operator::Divide | Operator::Remainder) && other.low <= 0 && other.high >= 0 {
            return Err(Broken::DivisionByZero);
        }
        let loops = self.loops | other.loops;
        if operator == Operator::Remainder {
            // A remainder has the sign of the divisor and is smaller than it.
            let is_below = self.low >= 0 && other.low > self.high;
            let (low, high) = match other.low > 0 {
                true if is_below => (self.low, self.high),
                true if self.low >= 0 => (0, self.high.min(other.high - 1)),
                true => (0, other.high - 1),
                false => (other.low + 1, 0),
            };
            return Ok(Self { low, high, loops });
        }
        let mut bounds: Option<Self> = None;
        for left in [self.low, self.high] {
            for right in [other.low, other.high] {
                let corner = operator.apply(left, right)?;
                let (low, high) =
                    bounds.map_or((corner, corner), |b| (b.low.min(corner), b.high.max(corner)));
                bounds = Some(Self { low, high, loops });
            }
        }
        Ok(bounds.expect("there are four corners"))
    }
}

impl Value {
    pub(super) fn constant(value: i128, unit: Unit) -> Self {
        Self { formula: Formula::Constant(value), unit, bounds: Some(Bounds::exactly(value)) }
    }

    /// The value, if it is the same in every run and in every turn of every loop.
    pub(super) fn as_constant(&self) -> Option<i128> {
        match self.formula {
            Formula::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Whether the value can stand for this unit. A bare 0 fits any.
    pub(super) fn fits(&self, unit: Unit) -> bool {
        self.unit == unit || self.is_bare_zero() && unit != Unit::Switch
    }

    pub(super) fn is_bare_zero(&self) -> bool {
        self.unit == Unit::Count && self.as_constant() == Some(0)
    }

    /// Combines two values whose units go together.
    pub(super) fn combine(self, operator: Operator, other: Value, unit: Unit) -> Result<Value, Broken> {
        if let (Some(left), Some(right)) = (self.as_constant(), other.as_constant()) {
            return Ok(Value::constant(operator.apply(left, right)?, unit));
        }
        let bounds = match (self.bounds, other.bounds) {
            (Some(left), Some(right)) => Some(left.combine(operator, right)?),
            _ => None,
        };
        let by_zero =
            matches!(operator, Operator::Divide | Operator::Remainder) && other.as_constant() == Some(0);
        if by_zero {
            return Err(Broken::DivisionByZero);
        }
        let formula = Formula::Binary(operator, Box::new((self.formula, other.formula)));
        Ok(Value { formula, unit, bounds })
    }
}

/// The unit of a combination, if the units go together.
pub(super) fn combined_unit(operator: Operator, left: &Value, right: &Value) -> Option<Unit> {
    if left.unit == Unit::Switch || right.unit == Unit::Switch {
        return None;
    }
    let common = if left.is_bare_zero() { right.unit } else { left.unit };
    let same = left.fits(common) && right.fits(common);
    match operator {
        Operator::Add | Operator::Subtract | Operator::Remainder => same.then_some(common),
        Operator::Multiply if left.unit == Unit::Count => Some(right.unit),
        Operator::Multiply => (right.unit == Unit::Count).then_some(left.unit),
        Operator::Divide if right.unit == Unit::Count => Some(left.unit),
        Operator::Divide => same.then_some(Unit::Count),
    }
}

pub(super) fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "a number",
        Unit::Bytes => "a size",
        Unit::Nanos => "a duration",
        Unit::Switch => "`on` or `off`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every combination of every value lies within the bounds that are computed for it.
    #[test]
    fn bounds_hold_every_value() {
        use Operator::{Add, Divide, Multiply, Remainder, Subtract};
        let ranges: Vec<(i128, i128)> =
            (-4..5).flat_map(|low| (low..5).map(move |high| (low, high))).collect();
        for operator in [Add, Subtract, Multiply, Divide, Remainder] {
            for (a, b) in ranges.iter().flat_map(|a| ranges.iter().map(move |b| (*a, *b))) {
                let bounds = |(low, high)| Bounds { low, high, loops: 0 };
                let Ok(result) = bounds(a).combine(operator, bounds(b)) else {
                    assert!(b.0 <= 0 && b.1 >= 0);
                    continue;
                };
                for (x, y) in (a.0..=a.1).flat_map(|x| (b.0..=b.1).map(move |y| (x, y))) {
                    let value = operator.apply(x, y).unwrap();
                    assert!(result.low <= value && value <= result.high, "{x} {operator:?} {y}");
                }
            }
        }
    }
}
