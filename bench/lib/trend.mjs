// Whether a figure grows: a line through its points.
// In: points [minute, value]. Out: the growth over their time, and whether it is more than chance.

/** Least squares. `slope` per unit of x, `error` its standard error. */
export function slopeOf(points) {
  const mean = axis => points.reduce((sum, point) => sum + point[axis], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const spread = points.reduce((sum, [at]) => sum + (at - x) ** 2, 0);
  const slope = points.reduce((sum, [at, value]) => sum + (at - x) * (value - y), 0) / spread;
  const rest = points.reduce((sum, [at, value]) => sum + (value - y - slope * (at - x)) ** 2, 0);
  return { slope, error: Math.sqrt(rest / Math.max(1, points.length - 2) / spread), mean: y };
}

/**
 * It grows if, over the last half of the points, the line rises by more than a tenth of their mean, by more than `floor`,
 * and by more than twice its standard error.
 */
export function growth(points, floor) {
  const half = points.slice(Math.floor(points.length / 2));
  const { slope, error, mean } = slopeOf(half);
  const length = half.at(-1)[0] - half[0][0];
  const risen = slope * length;
  return { risen, mean, grows: slope > 2 * error && risen > floor && risen > mean / 10 };
}
