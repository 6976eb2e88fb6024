/** The paths of serial devices, as one line of text. */

/** Ports of a serial server at most. @source Interface 2, B, Limits */
export const MOST_PORTS = 4

/** Where devices of lines are; a path that leaves /dev by `..` is none. */
const DEVICE = /^\/dev(?!.*\/\.\.(?:\/|$))\/[\w.:@+/-]+$/

/** The paths in a text with commas or blanks between, in the order of the ports. */
export function devicePathsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((path) => path !== '')
}

/** Why a text is no list of devices; undefined where it is one, an empty one too. */
export function devicePathsFault(text: string): string | undefined {
  const paths = devicePathsOf(text)
  if (paths.length > MOST_PORTS) return `It names ${paths.length} devices, and there are ${MOST_PORTS} ports.`
  const wrong = paths.find((path) => path.length > 255 || !DEVICE.test(path))
  if (wrong !== undefined)
    return `${JSON.stringify(wrong.slice(0, 64))} is no device. Paths begin with /dev/, such as /dev/ttyUSB0.`
  const twice = paths.find((path, index) => paths.indexOf(path) !== index)
  return twice === undefined ? undefined : `${twice} stands twice. One device is one port.`
}

/** How such a text is kept: commas and a blank between. */
export function devicePathsText(text: string): string {
  return devicePathsOf(text).join(', ')
}
