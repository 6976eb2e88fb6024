import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { createTemplateFiles } from '../../io/state-files.ts'

const plain = {
  id: 'one',
  maker: 'B',
  model: 'One',
  kind: 'relay',
  title: 'Relay',
  source: { title: 'Manual', revision: '1', note: 'none' },
  line: { baud: 9600, parity: 'none', stop_bits: 1 },
  unitId: 1,
  points: [{ name: 'relay 1', fc: 1, address: 0, type: 'bit' }],
}
const file = (changes: object) => JSON.stringify({ ...plain, ...changes })

t.test('templates are read with every default, by maker', async (t) => {
  const folder = t.testdir({ 'one.json': file({}), 'two.json': file({ id: 'two', maker: 'A' }), 'README.md': '' })
  const found = await createTemplateFiles(folder, fakeClock()).list()
  t.match(found, [{ id: 'two' }, { id: 'one', points: [{ pollMs: 10_000, scale: 1, unit: null }] }])
})

t.test('a damaged template is reported with its name and what is wrong', async (t) => {
  const damaged: [string, RegExp][] = [
    ['{', /one\.json is damaged/],
    [file({ colour: 'red' }), /colour is not known/],
    [file({ id: 'other' }), /id is other/],
    [file({ points: [{ ...plain.points[0], bit: 3 }] }), /points\[0\]\.bit is 3/],
  ]
  for (const [text, message] of damaged)
    await t.rejects(createTemplateFiles(t.testdir({ 'one.json': text }), fakeClock()).list(), {
      code: 'template_damaged',
      message,
    })
  await t.rejects(createTemplateFiles('/nowhere', fakeClock()).list(), { code: 'template_damaged' })
})

t.test('they are read once for all callers within ten seconds, and then again', async (t) => {
  const folder = t.testdir({ 'one.json': file({}), 'two.json': file({ id: 'two' }) })
  const clock = fakeClock()
  const files = createTemplateFiles(folder, clock)
  const found = await files.list()
  rmSync(join(folder, 'two.json'))
  t.equal(await files.list(), found)
  clock.advance(10_000)
  t.equal((await files.list()).length, 1)
})
