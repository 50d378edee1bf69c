//! Durations that were measured, and what they come to.

use std::time::Duration;

/// How long each of many tries took.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    sorted: Vec<Duration>,
}

impl Samples {
    /// The duration that this share of all tries did not exceed; 0.5 is the median. Zero if nothing was measured.
    pub fn percentile(&self, share: f64) -> Duration {
        let last = self.sorted.len().saturating_sub(1);
        let place = (self.sorted.len() as f64 * share).ceil() as usize;
        self.sorted.get(place.saturating_sub(1).min(last)).copied().unwrap_or_default()
    }

    /// The longest.
    pub fn longest(&self) -> Duration {
        self.sorted.last().copied().unwrap_or_default()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.sorted.len()
    }
}

impl FromIterator<Duration> for Samples {
    fn from_iter<I: IntoIterator<Item = Duration>>(durations: I) -> Self {
        let mut sorted: Vec<Duration> = durations.into_iter().collect();
        sorted.sort_unstable();
        Self { sorted }
    }
}

/// The middle one of several figures; of an even number, the lower middle.
pub fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

/// A duration in milliseconds.
pub fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// A duration in microseconds.
pub fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let samples: Samples = (1..=100).rev().map(Duration::from_millis).collect();
        assert_eq!(samples.percentile(0.5), Duration::from_millis(50));
        assert_eq!(samples.percentile(0.99), Duration::from_millis(99));
        assert_eq!(samples.percentile(1.0), samples.longest());
        assert_eq!(samples.percentile(0.0), Duration::from_millis(1));
    }

    #[test]
    fn nothing_measured_is_zero_and_no_panic() {
        assert_eq!(Samples::default().percentile(0.99), Duration::ZERO);
        assert_eq!(median([]), 0.0);
    }

    #[test]
    fn one_outlier_does_not_move_the_median() {
        assert_eq!(median([3.0, 900.0, 2.0]), 3.0);
        assert_eq!(median([4.0, 1.0]), 1.0);
    }
}
