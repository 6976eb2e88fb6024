import fc from 'fast-check'
import t from 'tap'
import { anyText } from '#kit/test/any-text.ts'
import { quotePowerShell } from '../../wire/host-script.ts'
import { literalOf, nodesOf, parsePowerShell } from '../power-shell.ts'

/** What a quoted text means to a parser of PowerShell; undefined when it is more than a value. */
function meaningOf(text: string): string | undefined {
  const root = parsePowerShell(`$value = ${quotePowerShell(text)}\n`)
  const [assigned, more] = nodesOf(root, 'assignment_expression')
  if (root.hasError || !assigned || more) return undefined
  const value = assigned.children.at(-1)
  return value ? literalOf(value) : undefined
}

t.test('a value is one expression that stands for exactly that value, whatever it contains', async (t) => {
  for (const text of [
    '',
    "'",
    "''",
    'a b',
    "it's",
    '"',
    '$x',
    '$(x)',
    '`',
    ';',
    '#',
    "';x;'",
    '\u2018x\u2019',
    '\n',
    '\0',
    '😀',
  ])
    t.equal(meaningOf(text), text)
  const anything = fc.oneof(
    anyText(),
    fc.string({
      unit: fc.constantFrom("'", '\u2018', '\u2019', '\u201a', '\u201b', '\u201c', '"', '`', '$', '(', ')', '\n', 'a'),
    }),
  )
  fc.assert(
    fc.property(anything, (text) => meaningOf(text) === text),
    { numRuns: 300 },
  )
})

t.test('it is printable ASCII: no code page turns it into a quote', async () => {
  fc.assert(fc.property(anyText(), (text) => /^[ -~]+$/.test(quotePowerShell(text))))
})

t.test('plain names stay as they are', async (t) => {
  t.equal(quotePowerShell('board-7.local'), "'board-7.local'")
  t.equal(quotePowerShell(''), "''")
  t.equal(quotePowerShell("a'b"), "('' + 'a' + '''' + 'b')")
})
