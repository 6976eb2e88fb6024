import t from 'tap'
import { createTemplateFiles } from '../../io/template-files.ts'

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
  const found = await createTemplateFiles(folder).list()
  t.match(found, [{ id: 'two' }, { id: 'one', points: [{ pollMs: 10_000, scale: 1, unit: null }] }])
})

t.test('a damaged template is told with its name and what is wrong', async (t) => {
  const damaged: [string, RegExp][] = [
    ['{', /one\.json is damaged/],
    [file({ colour: 'red' }), /colour is not known/],
    [file({ id: 'other' }), /id is other/],
    [file({ points: [{ ...plain.points[0], bit: 3 }] }), /points\[0\]\.bit is 3/],
  ]
  for (const [text, message] of damaged)
    await t.rejects(createTemplateFiles(t.testdir({ 'one.json': text })).list(), { code: 'template_damaged', message })
  await t.rejects(createTemplateFiles('/nowhere').list(), { code: 'template_damaged' })
})
