/** Tests of the figures above one line. */
import t from 'tap'
import { portFigures } from '../../web/port-page.ts'
import { port } from './port-fixture.ts'

/** The figure of this name, of a line whose counter stood at these values at its last looks. */
function figure(name: string, of: { mode: string; counter: string; looks: number[]; noisy?: number }) {
  const { counter, looks, mode, noisy = 0 } = of
  const samples = looks.map((value, at) => ({ atMs: at * 2000, counters: { [counter]: value } }))
  const units = { total: 2, well: 2 - noisy, slow: 0, noisy, silent: 0 }
  const counters = { [counter]: looks.at(-1) ?? 0 }
  const figures = portFigures(port({ settings: { mode }, counters, units }), samples, [])
  return figures.find((one) => one.name === name)
}

t.test('an old fault is highlighted only while it continues', async (t) => {
  const figures = [
    ['Checksum errors', 'master', 'crcErrors'],
    ['Unknown frames', 'listen', 'unknownFrames'],
    ['Exceptions', 'slave', 'exceptionAnswers'],
  ] as const
  for (const [name, mode, counter] of figures) {
    t.match(figure(name, { mode, counter, looks: [7, 7, 8] }), { value: '8', lit: 'warn' }, `${name} come`)
    const past = figure(name, { mode, counter, looks: [8, 8, 8] })
    t.match(past, { value: '8' }, `${name} are counted`)
    t.equal(past?.lit, undefined, `${name} came once`)
  }
  const noisy = figure('Checksum errors', { mode: 'master', counter: 'crcErrors', looks: [8, 8], noisy: 1 })
  t.equal(noisy?.lit, 'warn', 'for as long as a unit is noisy')
})
