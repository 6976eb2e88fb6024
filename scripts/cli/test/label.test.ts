/** plantroom label. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import decodeQR from 'qr/decode.js'
import { type Test, t } from 'tap'
import { label } from '../label.ts'
import { runCommand } from './world.ts'

const ADDRESSED = ['small', '--address', 'boiler.example']

/** What a phone reads: the code of a drawing, painted pixel by pixel. */
function read(squares: readonly { x: number; y: number; side: number }[], side: number): string {
  const data = new Uint8Array(side * side * 4).fill(255)
  for (const square of squares)
    for (let y = Math.round(square.y); y < Math.round(square.y + square.side); y++)
      for (let x = Math.round(square.x); x < Math.round(square.x + square.side); x++)
        data.fill(0, (y * side + x) * 4, (y * side + x) * 4 + 3)
  return decodeQR({ width: side, height: side, data })
}

async function written(t: Test, name: string, more: readonly string[] = []): Promise<string> {
  const file = join(t.testdir(), name)
  t.match(await runCommand(label, [...ADDRESSED, file, ...more]), {
    code: 0,
    out: `${file}: http://boiler.example:3999\n`,
  })
  return readFileSync(file, 'latin1')
}

t.test('the code of an SVG opens the page of the daemon, and the text beside it says where that is', async (t) => {
  const svg = await written(t, 'label.svg', ['--name', 'Küche & <Saal>'])
  const squares = [...svg.matchAll(/M([\d.]+) ([\d.]+)h([\d.]+)/g)].map(([, x, y, side]) => ({
    x: Number(x),
    y: Number(y),
    side: Number(side),
  }))
  t.equal(read(squares, 290), 'http://boiler.example:3999')
  t.match(svg, /^<svg [^>]*width="62mm" height="29mm"/)
  t.match(svg, '>K&#252;che &#38; &#60;Saal&#62;</text>')
  t.match(svg, '>A small daemon</text>')
  t.match(svg, '>http://boiler.example:3999</text>')
})

t.test('the code of a PDF opens the page too, and each object stands where its table says', async (t) => {
  const pdf = await written(t, 'label.pdf', ['--name', 'Boiler (3) \\ Küche 电'])
  const point = 72 / 254
  const squares = [...pdf.matchAll(/^([\d.]+) ([\d.]+) ([\d.]+) [\d.]+ re$/gm)].map(([, x, y, side]) => ({
    ...{ x: Number(x) / point, y: 290 - (Number(y) + Number(side)) / point, side: Number(side) / point },
  }))
  t.equal(read(squares, 290), 'http://boiler.example:3999')
  t.match(pdf, '(Boiler \\(3\\) \\\\ Küche ?) Tj')
  const places = [...pdf.matchAll(/^(\d{10}) 00000 n/gm)].map(([, place]) => Number(place))
  t.same(
    places.map((place) => pdf.slice(place, place + 7)),
    places.map((_, index) => `${index + 1} 0 obj`),
  )
  t.match(pdf.slice(Number(/startxref\n(\d+)/.exec(pdf)?.[1])), /^xref\n/)
  const [, length, content = ''] = /Length (\d+) >>\nstream\n([\s\S]*)\nendstream/.exec(pdf) ?? []
  t.equal(content.length, Number(length))
})

t.test('without a file it is shown in the terminal', async (t) => {
  const { code, out } = await runCommand(label, ADDRESSED)
  t.equal(code, 0)
  t.match(out, /█▀▀|▄▄▄▄▄/)
  t.match(out, /A small daemon\nhttp:\/\/boiler\.example:3999\n/)
})

t.test('no label is made that leads nowhere, or that replaces another', async (t) => {
  const file = join(t.testdir({ 'old.svg': 'old', 'only.toml': '[http]\nlisten = "127.0.0.1:3999"\n' }), 'old.svg')
  for (const [argv, code] of [
    [['small', '--address', 'a b'], 'bad_usage'],
    [['small', '--address', 'x'.repeat(61)], 'bad_usage'],
    [['small', '--address', 'a/b'], 'bad_usage'],
    ...['300.1.1.1', '10.0.7', '0x7f.1', 'fe80::1%eth0'].map(
      (one) => [['small', '--address', one], 'bad_usage'] as const,
    ),
    [['small', '--name', 'two\nlines', '--address', 'a'], 'bad_usage'],
    [['small', 'label.png'], 'bad_usage'],
    [[], 'bad_usage'],
    [['large'], 'unknown_daemon'],
    [['small', '--config', join(file, '../only.toml')], 'no_address'],
    [[...ADDRESSED, file], 'label_failed'],
    [[...ADDRESSED, '/none/label.svg'], 'label_failed'],
  ] as const)
    t.match(await runCommand(label, argv), { code }, argv.join(' '))
  t.equal(readFileSync(file, 'utf8'), 'old')
})

t.test('HTTPS and an address of IPv6 are kept', async (t) => {
  const config = join(t.testdir(), 'small.toml')
  writeFileSync(config, '[http]\ntls = true\nlisten = "[::]:443"\n')
  t.match(
    (await runCommand(label, ['small', '--config', config, '--address', 'fd00::7'])).out,
    /https:\/\/\[fd00::7\]\n/,
  )
})

t.test('of an installation in a folder of its own, the settings are in it', async (t) => {
  const base = t.testdir({ etc: { plantroom: { 'small.toml': '[http]\nlisten = "0.0.0.0:4000"\n' } } })
  t.match(await runCommand(label, ADDRESSED, { env: { PLANTROOM_BASE: base } }), { out: /boiler\.example:4000\n/ })
})
