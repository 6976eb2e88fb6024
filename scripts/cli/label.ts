/** `plantroom label`: what is stuck on a box, with its name, serial number, address, and a QR code that opens its page. */
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import { resolve } from 'node:path'
import { encodeQR } from 'qr'
import { loadConfig } from '#kit/config/load.ts'
import { parseListen, urlOfListen } from '#kit/config/tables.ts'
import { Fault } from '#kit/pure/fault.ts'
import { configFileOf, exitCodes } from '#kit/run/arguments.ts'
import { type Command, parseCommand, requireWords, type World, whyNotMade } from './command.ts'
import { loadDaemon } from './daemons.ts'

const form = 'label DAEMON [FILE.svg|FILE.pdf] [--address HOST] [--name TEXT] [--config FILE]'

/** Longest name and address: more cannot be read on a label. */
const MOST_CHARS = 60

export const label: Command = {
  name: 'label',
  summary: 'a label for the box, with a QR code that opens the page of a daemon',
  help: `plantroom ${form}

Writes a label of 62 x 29 mm, as label printers have them: name and serial number of this machine, address of DAEMON, and a
QR code of it. Without FILE it shows the code in the terminal.
  --address HOST    where others reach this machine, such as its name in the network; default the address of the
                    interface that the default route leaves by, which DHCP may change
  --name TEXT       default the name of this machine
  --config FILE     as the daemon was started with
Exit codes: 0 fine, 1 failed, 2 wrong usage.
`,
  stateUse: () => undefined,
  async run(argv, world) {
    const { positionals, values } = parseCommand(argv, {
      address: { type: 'string' },
      name: { type: 'string' },
      config: { type: 'string' },
    })
    requireWords(positionals, 1, 2, form)
    const [daemon = '', file] = positionals
    const kind = file === undefined ? 'text' : /\.(svg|pdf)$/.exec(file)?.[1]
    if (kind === undefined) throw new Fault('bad_usage', `${JSON.stringify(file)} ends neither with .svg nor with .pdf`)
    const { title, url } = await placeOf(world, daemon, values)
    const name = values.name ?? hostname()
    if (name.length > MOST_CHARS || /\p{Cc}/u.test(name))
      throw new Fault('bad_usage', `--name takes text of at most ${MOST_CHARS} characters in one line`)
    const facts = { name, title, url, serial: serialNumber() }
    if (file === undefined) world.out(textOf(facts))
    else {
      await writeNew(resolve(file), kind === 'svg' ? svgOf(drawingOf(facts)) : pdfOf(drawingOf(facts)))
      world.out(`${file}: ${url}\n`)
    }
    return exitCodes.fine
  },
}

/** What a label says. */
interface LabelFacts {
  name: string
  title: string
  url: string
  /** Undefined where the machine has none. */
  serial: string | undefined
}

/** @throws Fault `unknown_daemon`, `config_refused`, `bad_usage`, `no_address` */
async function placeOf(world: World, daemon: string, { address, config }: { address?: string; config?: string }) {
  const { config: schema, title } = await loadDaemon(world.daemonsFolder, daemon)
  const file = config ?? configFileOf(daemon, world.env)
  const { value } = await loadConfig({ schema, file, mustExist: config !== undefined, sets: [] })
  const { listen, tls } = (value as { http: { listen: string; tls: boolean } }).http
  const { host, port } = parseListen(listen)
  if (address === undefined && /^(127\.|::1$|localhost$)/.test(host))
    throw new Fault('no_address', `${daemon} listens at ${listen}, where only this machine reaches it: set http.listen`)
  const reached = address ?? (host === '0.0.0.0' || host === '::' ? ownAddress() : host)
  const url = URL.parse(urlOfListen({ host: reached, port }, tls ? 'https' : 'http'))
  const isName = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(reached) && url?.hostname === reached.toLowerCase()
  // Browsers read 10.0.7 as 10.0.0.7, and so would whoever scans the label.
  if (url === null || reached.length > MOST_CHARS || !(isIP(reached) || isName))
    throw new Fault('bad_usage', `--address takes a name or an IP address, not ${JSON.stringify(reached)}`)
  return { title, url: url.href.replace(/\/$/, '') }
}

/** @source proc_net(5): route */
function ownAddress(): string {
  const routes = readFileSync('/proc/net/route', 'utf8')
    .split('\n')
    .map((line) => line.split('\t'))
  const [leavesBy = ''] =
    routes.find(([, destination, , flags]) => destination === '00000000' && flags !== undefined) ?? []
  const found = networkInterfaces()[leavesBy]?.find(({ family }) => family === 'IPv4')?.address
  if (found === undefined)
    throw new Fault(
      'no_address',
      'this machine has no default route yet, so that its address is not known: give it by --address',
    )
  return found
}

/** Of the board, or of the computer; what makers leave in place of one is none. */
function serialNumber(): string | undefined {
  for (const file of ['/proc/device-tree/serial-number', '/sys/class/dmi/id/product_serial'])
    try {
      const text = readFileSync(file, 'utf8')
        .replaceAll(/[\0\s]+/g, ' ')
        .trim()
      if (/^[\x21-\x7e][\x20-\x7e]{3,39}$/.test(text) && !/not specified|default|to be filled|^0+$|none/i.test(text))
        return text
    } catch {
      // There is none, or only root may read it.
    }
  return undefined
}

/** An older label may be on the box: none is replaced in silence. @throws Fault `label_failed` */
async function writeNew(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { encoding: 'latin1', flag: 'wx' })
  } catch (cause) {
    throw new Fault('label_failed', whyNotMade(file, cause), { cause })
  }
}

function textOf({ name, serial, title, url }: LabelFacts): string {
  return `${encodeQR(url, 'ascii', { ecc: 'medium', border: 2 })}\n${[name, title, url, ...(serial ? [`serial ${serial}`] : [])].join('\n')}\n`
}

// The drawing, in tenths of a millimetre from the upper left.

const [WIDTH, HEIGHT, EDGE] = [620, 290, 20]
const CODE = HEIGHT - 2 * EDGE
/** Of a letter, in parts of its size: wide enough for most lines, also in bold and in wide fonts. */
const LETTER = 0.66

interface Drawing {
  squares: { x: number; y: number; side: number }[]
  lines: { y: number; size: number; isBold: boolean; text: string }[]
}

const TEXT_X = EDGE + CODE + 20

function drawingOf({ name, serial, title, url }: LabelFacts): Drawing {
  // A border of its own is the least that it takes; the label's is wider.
  const rows = encodeQR(url, 'raw', { ecc: 'medium', border: 1 })
    .slice(1, -1)
    .map((row) => row.slice(1, -1))
  const side = CODE / rows.length
  const squares = rows.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? [{ x: EDGE + x * side, y: EDGE + y * side, side }] : [])),
  )
  const room = WIDTH - EDGE - TEXT_X
  const sized = (text: string, most: number) => Math.min(most, room / (text.length * LETTER))
  const lines = [
    { y: 80, size: sized(name, 44), isBold: true, text: name },
    { y: 130, size: sized(title, 26), isBold: false, text: title },
    { y: 195, size: sized(url, 26), isBold: false, text: url },
    ...(serial === undefined
      ? []
      : [{ y: 250, size: sized(`serial ${serial}`, 22), isBold: false, text: `serial ${serial}` }]),
  ]
  return { squares, lines }
}

const NUMBER = (value: number) => Number(value.toFixed(3))

function svgOf({ lines, squares }: Drawing): string {
  const shape = squares.map(
    ({ side, x, y }) => `M${NUMBER(x)} ${NUMBER(y)}h${NUMBER(side)}v${NUMBER(side)}h-${NUMBER(side)}z`,
  )
  const escaped = (text: string) => text.replace(/[&<>"]|[^\x20-\x7e]/gu, (one) => `&#${one.codePointAt(0)};`)
  const texts = lines.map(
    ({ isBold, size, text, y }) =>
      `<text x="${TEXT_X}" y="${y}" font-size="${NUMBER(size)}"${isBold ? ' font-weight="bold"' : ''}>${escaped(text)}</text>`,
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH / 10}mm" height="${HEIGHT / 10}mm" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="Helvetica, Arial, sans-serif">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<path shape-rendering="crispEdges" d="${shape.join('')}"/>`,
    ...texts,
    '</svg>\n',
  ].join('\n')
}

/** Points of a tenth of a millimetre. */
const POINT = 72 / 254

/** One page, with the fonts that each reader has. Characters beyond Latin-1 become question marks. @source ISO 32000-1 */
function pdfOf({ lines, squares }: Drawing): string {
  const at = (y: number) => NUMBER((HEIGHT - y) * POINT)
  const shapes = squares.map(
    ({ side, x, y }) => `${NUMBER(x * POINT)} ${at(y + side)} ${NUMBER(side * POINT)} ${NUMBER(side * POINT)} re`,
  )
  const escaped = (text: string) => text.replace(/[^\x20-\x7e\xa0-\xff]/gu, '?').replace(/[\\()]/g, '\\$&')
  const texts = lines.map(
    ({ isBold, size, text, y }) =>
      `BT /${isBold ? 'B' : 'R'} ${NUMBER(size * POINT)} Tf ${NUMBER(TEXT_X * POINT)} ${at(y)} Td (${escaped(text)}) Tj ET`,
  )
  const content = [...shapes, 'f', ...texts].join('\n')
  const font = (name: string) => `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${NUMBER(WIDTH * POINT)} ${NUMBER(HEIGHT * POINT)}] /Contents 4 0 R /Resources << /Font << /R 5 0 R /B 6 0 R >> >> >>`,
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    font('Helvetica'),
    font('Helvetica-Bold'),
  ]
  let text = '%PDF-1.4\n'
  const places = objects.map((object, index) => {
    const place = text.length
    text += `${index + 1} 0 obj\n${object}\nendobj\n`
    return `${String(place).padStart(10, '0')} 00000 n \n`
  })
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.join('')}`
  return `${text}${table}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`
}
