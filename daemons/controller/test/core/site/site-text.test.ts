/** Tests of core/site/site-text.ts. */
import fc from 'fast-check'
import { t } from 'tap'
import { holds } from '#kit/test/holds.ts'
import { readSiteText } from '../../../core/site/site-text.ts'
import { limits } from '../../site-world.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)
const read = (text: string) => readSiteText(bytesOf(text), limits)

t.test('a document is read as JSON, with or without a byte order mark', async (t) => {
  t.same(read('{"zone": []}'), { zone: [] })
  t.same(read('\ufeff{"zone": []}'), { zone: [] })
})

t.test('a duplicate key in an object is a fault with its position', async (t) => {
  const text =
    '{"zone": [{"name": "a"}, {"name": "b", "x": {"\\u006eame": 1, "y": [{}, {"a,": 1, "a,": 2}]}, "name": "c"}], "zone": []}'
  t.throws(() => read(text), {
    code: 'site_faults',
    details: {
      faults: [
        { path: 'zone[1].x.y[1]', sentence: 'the key "a," stands twice' },
        { path: 'zone[1]', sentence: 'the key "name" stands twice' },
        { path: '', sentence: 'the key "zone" stands twice' },
      ],
    },
  })
})

t.test('a text that is not JSON is refused with its line and without its content', async (t) => {
  const fault = t.throws(() => read('{\n"auth_user": [\n{"password": "hunter2" "x"}]}')) as unknown as Error
  t.match(fault, { code: 'site_not_json', message: 'the site file is not JSON at line 3' })
  for (const text of ['', '{', 'null x', '{"a":1,}', '\ud800x']) t.throws(() => read(text), { code: 'site_not_json' })
  t.throws(() => readSiteText(new Uint8Array([0x22, 0xff, 0x22]), limits), { code: 'site_not_json' })
})

t.test('the line is that of the fault, whatever the fault is', async (t) => {
  const before = JSON.stringify(
    { zone: Array.from({ length: 200 }, (_, n) => ({ name: `Zone ${n}`, elevated: n > 9, max: -1.5e3 })) },
    null,
    1,
  )
  const lines = before.split('\n').length
  for (const [what, text, line] of [
    ['a comma before the end', `{\n"site": [\n{"name": "a"},\n]}`, '4'],
    ['a comma too many', '{"a": 1,\n,"b": 2}', '2'],
    ['an unknown word', '{"a":\n true,\n "b": yes}', '3'],
    ['a cut word', '{"a":\n tru}', '2'],
    ['single quotes', "{\n'site': []}", '2'],
    ['a comment', '{\n// zones\n"zone": []}', '2'],
    ['a line break in a text', '{"a":\n "x\ny"}', '2'],
    ['something behind the end', '{}\n\n{}', '3'],
    ['an end that is missing', '{"site": [\n{"name": "a"}\n', '2, where it ends too early'],
    ['a text without its end', '{"a":\n"b', '2, where it ends too early'],
    ['a comma late in a long file', `${before.slice(0, -3)},\n]}`, `${lines}`],
  ] as const)
    t.throws(() => read(text), { code: 'site_not_json', message: `the site file is not JSON at line ${line}` }, what)
  t.throws(() => read(' \n'), { message: 'the site file is empty' })
})

t.test('a text with more bytes than the limit is not parsed', async (t) => {
  t.throws(() => readSiteText(new Uint8Array(limits.bytes + 1), limits), { code: 'site_too_large' })
})

t.test('any JSON comes back unchanged, and none of its keys is a duplicate', async (t) => {
  holds(
    t,
    fc.property(fc.json(), fc.boolean(), (json, isSpaced) => {
      const text = isSpaced ? JSON.stringify(JSON.parse(json), null, 2) : json
      return isRepeating(json) || JSON.stringify(read(text)) === JSON.stringify(JSON.parse(text))
    }),
  )
})

/** fast-check's own JSON may repeat a key only if stringifying lost nothing. */
function isRepeating(json: string): boolean {
  return JSON.stringify(JSON.parse(json)) !== json
}

t.test('a string of many million characters is read, and one with escapes', async (t) => {
  const large = { ...limits, bytes: 2 ** 26 }
  const sized = (text: string) => readSiteText(bytesOf(text), large)
  t.equal((sized(`{"a": "${'x'.repeat(3e7)}", "b": 1}`) as { b: number }).b, 1)
  const escaped = `"a\\\\": 1, "a\\"": 2, "${'\\\\'.repeat(4e6)}": 3, "${'\\\\'.repeat(4e6)}\\"": 4`
  t.equal(Object.keys(sized(`{${escaped}}`) as object).length, 4)
  t.throws(() => sized(`{${escaped}, "a\\\\": 5}`), { code: 'site_faults' })
})
