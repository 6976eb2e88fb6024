/** When the sun rises and sets at a place: for schedules, to a minute or two. */

export interface Place {
  /** Degrees, north positive. */
  latitude: number
  /** Degrees, east positive. */
  longitude: number
}

/** The sun's centre at the horizon: half its disc, and the refraction of the air. @source Meeus, chapter 15 */
const HORIZON_DEG = -0.833

const MINUTE_MS = 60_000
const DEG = Math.PI / 180

/**
 * The sunrise before, or the sunset after, the solar noon that is nearest to an instant.
 * @param aroundMs noon of the day that is meant, by its wall clock
 * @returns rounded to a minute; undefined where the sun does not rise or set that day
 * @source Meeus, Astronomical Algorithms, chapters 15 and 25 (low accuracy, 0.01 degrees)
 */
export function sunTime(
  what: 'sunrise' | 'sunset',
  { latitude, longitude }: Place,
  aroundMs: number,
): number | undefined {
  let noonMs = aroundMs
  // The equation of time changes by half a minute a day at most: twice is enough.
  for (let n = 0; n < 2; n++) noonMs -= hourAngle(noonMs, longitude) * 4 * MINUTE_MS
  const side = what === 'sunrise' ? -1 : 1
  let atMs = noonMs
  for (let n = 0; n < 4; n++) {
    const angle = horizonAngle(atMs, latitude)
    if (angle === undefined) return undefined
    atMs += (side * angle - (n === 0 ? 0 : hourAngle(atMs, longitude))) * 4 * MINUTE_MS
  }
  return Math.round(atMs / MINUTE_MS) * MINUTE_MS
}

/** Degrees that the sun is past the meridian: 0 at solar noon, -180 up to 180. One degree is four minutes. */
function hourAngle(atMs: number, longitude: number): number {
  const minutes = (atMs / MINUTE_MS) % 1440
  const solar = minutes + 4 * longitude + sunAt(atMs).equationMin
  return ((((solar / 4 - 180 + 180) % 360) + 360) % 360) - 180
}

/** The hour angle at which the sun is at the horizon; undefined if it stays above or below. */
function horizonAngle(atMs: number, latitude: number): number | undefined {
  const { declination } = sunAt(atMs)
  const phi = latitude * DEG
  const cos =
    (Math.sin(HORIZON_DEG * DEG) - Math.sin(phi) * Math.sin(declination)) / (Math.cos(phi) * Math.cos(declination))
  return cos >= -1 && cos <= 1 ? Math.acos(cos) / DEG : undefined
}

/** Declination in radians, and by how many minutes a sundial is ahead of the mean sun. */
function sunAt(atMs: number): { declination: number; equationMin: number } {
  const centuries = (atMs / 86_400_000 - 10_957.5) / 36_525
  const longitude = (280.46646 + centuries * (36_000.76983 + centuries * 0.0003032)) * DEG
  const anomaly = (357.52911 + centuries * (35_999.05029 - centuries * 0.0001537)) * DEG
  const eccentricity = 0.016708634 - centuries * (0.000042037 + centuries * 0.0000001267)
  const centre =
    (1.914602 - centuries * 0.004817) * Math.sin(anomaly) +
    (0.019993 - centuries * 0.000101) * Math.sin(2 * anomaly) +
    0.000289 * Math.sin(3 * anomaly)
  const node = (125.04 - 1934.136 * centuries) * DEG
  const apparent = longitude + (centre - 0.00569 - 0.00478 * Math.sin(node)) * DEG
  const obliquity = (23.4392911 - centuries * 0.0130042 + 0.00256 * Math.cos(node)) * DEG
  const y = Math.tan(obliquity / 2) ** 2
  const equation =
    y * Math.sin(2 * longitude) -
    2 * eccentricity * Math.sin(anomaly) +
    4 * eccentricity * y * Math.sin(anomaly) * Math.cos(2 * longitude) -
    0.5 * y * y * Math.sin(4 * longitude) -
    1.25 * eccentricity * eccentricity * Math.sin(2 * anomaly)
  return { declination: Math.asin(Math.sin(obliquity) * Math.sin(apparent)), equationMin: (4 * equation) / DEG }
}
