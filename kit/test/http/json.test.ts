/** Tests of http/dialect.ts. */
import fc from 'fast-check'
import t from 'tap'
import { Fault } from '#kit/pure/fault.ts'
import { holds } from '#kit/test/holds.ts'
import { readJson } from '../../http/dialect.ts'
import { anyText } from '../any-text.ts'

const read = (text: string) => readJson(Buffer.from(text))

t.test('reads what JSON.parse reads', async (t) => {
  holds(
    t,
    fc.property(fc.json({ maxDepth: 6 }), fc.nat(3), (text, spaces) => {
      const spaced = JSON.stringify(JSON.parse(text), null, spaces)
      // fast-check makes keys such as __proto__ on purpose.
      if (text.includes('__proto__')) return
      t.same(read(spaced), JSON.parse(spaced))
    }),
  )
})

t.test('throws nothing but its Fault, and accepts nothing that JSON.parse refuses', async (t) => {
  const pieces = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"b"',
    '1',
    '-',
    '01',
    '1e5',
    'null',
    'tru',
    '"\\',
    '"',
    ' ',
    '\u0000',
  )
  const texts = fc.oneof(
    anyText(),
    fc.array(pieces).map((parts) => parts.join('')),
  )
  const outcome = (run: () => unknown) => {
    try {
      run()
      return true
    } catch (error) {
      return error instanceof Fault && error.code === 'bad_json' ? false : error instanceof SyntaxError ? false : error
    }
  }
  holds(
    t,
    fc.property(texts, (text) => {
      const [ours, theirs] = [outcome(() => read(text)), outcome(() => JSON.parse(text))]
      // Stricter only if a name is repeated.
      return ours === theirs || (ours === false && /"([ab])"[\s\S]*"\1"/.test(text))
    }),
    { numRuns: 2000 },
  )
  holds(
    t,
    fc.property(fc.uint8Array(), (bytes) => outcome(() => readJson(bytes)) !== undefined),
  )
})

t.test('names the position, what was expected and what was found', async (t) => {
  const rows: [string, RegExp][] = [
    ['', /line 1, column 1: expected a value, found the end of the body/],
    ['{"a":1,\n "b" 2}', /line 2, column 6: expected a colon, found "2"/],
    ['{"a":1,}', /column 8: expected a name in double quotes, found "}"/],
    ['[1 2]', /column 4: expected a comma or \]/],
    ['{"a":1 "b"', /column 8: expected a comma or }/],
    ['{} x', /column 4: expected the end of the body, found "x"/],
    ['[01]', /column 3: expected a comma/],
    ['"a\nb"', /column 1: expected a value/],
    ["{'a':1}", /expected a name in double quotes, found "'"/],
  ]
  for (const [text, message] of rows) t.throws(() => read(text), { code: 'bad_json', message }, text)
})

t.test('never quotes what it read', async (t) => {
  t.throws(() => read('{"password":"hunter2'), { message: /column 13: expected a value, found "\\""$/ })
})

t.test('refuses repeated names, however they are written, and prototype names', async (t) => {
  for (const text of ['{"a":1,"a":1}', '{"a":1,"\\u0061":1}', '[{"b":{"a":1,"a":2}}]'])
    t.throws(() => read(text), { code: 'bad_json', message: /stands twice/ }, text)
  for (const text of ['{"__proto__":1}', '{"\\u005f_proto__":{}}', '[{"a":{"__proto__":null}}]'])
    t.throws(() => read(text), { code: 'bad_json', message: /not allowed/ }, text)
  t.same(read('[{"a":1},{"a":1},{"constructor":1}]'), [{ a: 1 }, { a: 1 }, { constructor: 1 }])
})

t.test('refuses nesting beyond 64 levels, and accepts any width', async (t) => {
  t.ok(read(`${'['.repeat(64)}${']'.repeat(64)}`))
  t.throws(() => read('['.repeat(65)), { message: /deeper than 64/ })
  t.throws(() => read('{"a":'.repeat(10_000)), { message: /deeper than 64/ })
  t.equal((read(`[${'1,'.repeat(30_000)}1]`) as unknown[]).length, 30_001)
  t.equal((read(`"${'x'.repeat(5_000_000)}"`) as string).length, 5_000_000)
})

t.test('skips a byte order mark and refuses what is not UTF-8', async (t) => {
  t.same(readJson(new Uint8Array([0xef, 0xbb, 0xbf, 0x31])), 1)
  t.throws(() => readJson(new Uint8Array([0x22, 0xc3, 0x28, 0x22])), { code: 'bad_json', message: /UTF-8/ })
})
