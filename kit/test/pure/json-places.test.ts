import t from 'tap'
import { placeOf, placesInJson } from '../../pure/json-places.ts'

const TEXT = `{
  "name": "x",
  "commands": {
    "power": { "send": "PW{,}\\r" }
  },
  "tests": [
    { "command": "power" },
    { "hears": "a:\\"b\\"" }
  ]
}
`

t.test('the place of a value is found by its path', async (t) => {
  const at = placesInJson(TEXT)
  t.same(at('name'), { line: 2, column: 11 })
  t.same(at('commands.power.send'), { line: 4, column: 24 })
  t.same(at('tests[1]'), { line: 8, column: 5 })
  t.same(at('tests[1].hears').line, 8)
  t.same(at(''), { line: 1, column: 1 })
})

t.test('a value that is not there stands in what is around it', async (t) => {
  const at = placesInJson(TEXT)
  t.same(at('version'), { line: 1, column: 1 })
  t.same(at('commands.power.reply[0].match'), at('commands.power'))
  t.same(at('tests[7]'), at('tests'))
  t.same(at('commands.power["no word. at [all]"].send'), at('commands.power'), 'nor is a name that is no word')
  t.same(at('["no word"]'), at(''))
})

t.test('a name with dots or brackets is found whole', async (t) => {
  const at = placesInJson('{"a.b": 1, "a": {"b": 2, "c[0]": [3]}}')
  t.same(at('a.b'), { line: 1, column: 9 })
  t.same(at('a.c[0][0]'), { line: 1, column: 35 })
})

t.test('the work grows with the text, not with how long its names are', async (t) => {
  const begun = process.cpuUsage()
  const at = placesInJson(`{"${'a'.repeat(100_000)}":[${'1,'.repeat(80_000)}`)
  t.same(at('b'), { line: 1, column: 1 })
  const { user } = process.cpuUsage(begun)
  t.ok(user < 10_000_000, `${user} µs`)
})

t.test('what is no JSON, or deep, is read as far as it goes', async (t) => {
  t.same(placesInJson('{"a": [1, "b')('a[0]'), { line: 1, column: 8 })
  t.same(placesInJson('')('a.b'), { line: 1, column: 1 })
  t.same(placesInJson('}}]"')('x'), { line: 1, column: 1 })
  t.same(placesInJson('['.repeat(100_000))('').line, 1)
  t.same(placeOf('ab\ncd', 4), { line: 2, column: 2 })
})

t.test('a text made to be slow or large is read as quickly as any other', async (t) => {
  const some = 130_000
  const children = Array.from({ length: some / 10 }, (_, n) => `"${n}": 1`).join()
  const before = process.cpuUsage()
  t.same(placesInJson(`{"a": "${'\\"'.repeat(some)}`)('a'), { line: 1, column: 1 }, 'quotes in a text without an end')
  t.same(placesInJson(`{"a": "${'\\"'.repeat(some)}\\`)('a'), { line: 1, column: 1 }, 'nor with half a sign')
  t.same(placesInJson(`{"${'k'.repeat(some)}": {${children}}, "b": 1}`)('b').line, 1, 'a long name over many values')
  t.same(placesInJson('{"a":'.repeat(some))('a.a.a'), { line: 1, column: 16 }, 'more levels than anybody writes')
  t.same(placesInJson('{}')('.'.repeat(some)), { line: 1, column: 1 }, 'a path of nothing but dots')
  const { user, system } = process.cpuUsage(before)
  t.ok(user + system < 5_000_000, `${user + system} µs of the processor`)
})
