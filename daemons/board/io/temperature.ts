/** How hot the machine is. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Readings beyond these come from sensors that are not there. */
const COLDEST_C = -55
const HOTTEST_C = 150

/**
 * The hottest of the machine's zones in degrees, one digit behind the point; null where it has none, or none that reads.
 * @source linux/Documentation/driver-api/thermal/sysfs-api.rst: temp in thousandths of a degree
 */
export async function readTemperature(folder = '/sys/class/thermal'): Promise<number | null> {
  const zones = await readdir(folder).catch(() => [])
  const readings = await Promise.all(
    zones.filter((zone) => /^thermal_zone\d+$/.test(zone)).map((zone) => readZone(join(folder, zone, 'temp'))),
  )
  const degrees = readings.filter((reading) => reading >= COLDEST_C && reading <= HOTTEST_C)
  return degrees.length === 0 ? null : Math.round(Math.max(...degrees) * 10) / 10
}

/** Not a number for a zone that cannot be read: some drivers refuse while their device sleeps. */
async function readZone(path: string): Promise<number> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return /^-?\d+\s*$/.test(text) ? Number(text) / 1000 : Number.NaN
}
