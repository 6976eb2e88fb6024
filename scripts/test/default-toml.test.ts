import { parse } from 'smol-toml'
import t from 'tap'
import { Type } from 'typebox'
import { loadConfig } from '#kit/config/load.ts'
import { defaultToml } from '../default-toml.ts'

const schema = Type.Object({
  things: Type.Object(
    {
      most: Type.Integer({ default: 3, minimum: 1, maximum: 9, unit: 'things', description: 'kept at once' }),
      paths: Type.Array(Type.String(), {
        default: Array.from({ length: 6 }, (_, n) => `/dev/something-long-${n}`),
        description: `${'many words that go on and on '.repeat(5)}end`,
      }),
    },
    { additionalProperties: false, default: {}, description: 'what is kept' },
  ),
})

t.test('says every key with its default, and sets none', async (t) => {
  const text = defaultToml('one', schema)
  t.match(text, /^#most = 3$/m)
  t.match(text, /^# Allowed: a whole number from 1 to 9 \(things\)\.$/m)
  t.same(parse(text), { things: {} })
})

t.test('is what the settings are when every # before a key is removed', async (t) => {
  const text = defaultToml('one', schema)
    .replace(/^#(?! )/gm, '')
    .replace(/^# {2}(?=")/gm, '')
  const file = `${t.testdir({ 'one.toml': text.replace(/^#\s+("\/dev)/gm, '$1') })}/one.toml`
  const { value } = await loadConfig({ schema, file, mustExist: true, sets: [] })
  t.equal(value.things.most, 3)
  t.equal(value.things.paths.length, 6)
})

t.test('has no line of more than 100 characters', async (t) => {
  t.same(
    defaultToml('one', schema)
      .split('\n')
      .filter((line) => line.length > 100),
    [],
  )
})
