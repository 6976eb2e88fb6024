import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { heldBytes } from '#kit/test/heap.ts'
import { artifactReader, titleOf } from '../../api/artifact-json.ts'

const MOST_VALUES = 100_000
const readArtifact = artifactReader(MOST_VALUES)
const bytes = (text: string) => Buffer.from(text)

t.test('a command set is a device definition, wire tests included', async (t) => {
  const text = readFileSync(join(import.meta.dirname, '../../../../kit/device/definitions/denon-avr.json'), 'utf8')
  t.equal(titleOf(readArtifact('command_set', bytes(text))), 'Denon AV receiver')
  t.throws(() => readArtifact('command_set', bytes(text.replace('"format": 1', '"format": 9'))), {
    code: 'definition_invalid',
  })
})

t.test('the others are objects with a name', async (t) => {
  for (const type of ['web_service', 'database_artifact'] as const) {
    t.match(readArtifact(type, bytes('{"name":"weather","rows":[1]}')), { name: 'weather' })
    for (const text of ['[]', 'null', '{}', '{"name":""}', '{"name":"a b"}', '{"name":7}'])
      t.throws(() => readArtifact(type, bytes(text)), { code: 'bad_fields' }, text)
    for (const text of ['', '{', '{"name":"a"}x', '{"name":"a","name":"b"}', '{"__proto__":{}}', '['.repeat(100)])
      t.throws(() => readArtifact(type, bytes(text)), { code: 'bad_json' }, text)
  }
  t.throws(() => readArtifact('web_service', bytes('{"name":"a","url":"file:///etc"}')), { code: 'bad_fields' })
})

t.test(
  'one that is checked takes the memory that the plan counts for it, and one of more values is refused',
  async (t) => {
    const values = (one: (at: number) => string) => {
      const many = Array.from({ length: MOST_VALUES - 10 }, (_, at) => one(at))
      return bytes(`{"name":"a","rows":[${many.join(',')}]}`)
    }
    const most = { '[]': 2, '{}': 2, '{"a":1}': 2, 'a name each': 1 }
    for (const [what, share] of Object.entries(most)) {
      const text =
        what === 'a name each'
          ? bytes(`{"name":"a"${Array.from({ length: MOST_VALUES - 10 }, (_, at) => `,"n${at}":${at}`).join('')}}`)
          : bytes(
              `{"name":"a","rows":[${Array(Math.floor(MOST_VALUES / share) - 10)
                .fill(what)
                .join(',')}]}`,
            )
      const before = await heldBytes()
      const value = readArtifact('database_artifact', text)
      const held = (await heldBytes()) - before
      t.ok(held < 3 * text.length + 96 * MOST_VALUES, `${what}: ${Math.round(held / MOST_VALUES)} bytes a value`)
      t.ok(value)
    }
    t.throws(
      () =>
        readArtifact(
          'database_artifact',
          values(() => '[[]]'),
        ),
      { code: 'bad_json', message: /at most/ },
    )
  },
)
