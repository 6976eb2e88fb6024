/** Routes of device definitions: their schema for anyone, and the editor for elevated sessions only. */
import { Type } from 'typebox'
import { createReader, fieldsFault } from '#kit/http/check.ts'
import { count, object, orNull, type Route, text, yesNo } from '#kit/http/route.ts'
import { deviceDefinition } from '#kit/pure/device/definition.ts'
import type { Journal } from '#kit/records/journal.ts'
import type { UiDefinitions } from '../core/drivers/definitions.ts'
import { doneAnswer } from './answers.ts'
import { granted, type UiGate } from './ui-gate.ts'

const nameOf = () => Type.String({ minLength: 1, maxLength: 63 })
/** The file has a bound of its own; in a body it is escaped. */
const textOf = () => Type.String({ maxLength: 262_144, description: 'the definition, as its file has it' })

const readName = createReader(Type.Object({ name: nameOf() }, { additionalProperties: false }), '?', 'text')
const readNamed = createReader(Type.Object({ name: nameOf() }, { additionalProperties: false }))
const readText = createReader(Type.Object({ text: textOf() }, { additionalProperties: false }))
const readSave = createReader(
  Type.Object(
    { text: textOf(), revision: orNull(Type.String({ maxLength: 64, description: 'of what the editor began with' })) },
    { additionalProperties: false },
  ),
)

const devices = Type.Array(object({ id: Type.Integer(), name: text }), { description: 'those that use it' })

const listAnswer = object({
  definitions: Type.Array(
    object({ name: text, title: orNull(text), version: orNull(text), own: yesNo, flaw: orNull(text), devices }),
  ),
})
const openAnswer = object({ name: text, text, own: yesNo, revision: text, devices })
const arg = object({
  name: text,
  type: Type.Enum(['integer', 'number', 'boolean', 'enum', 'text']),
  minimum: orNull(Type.Number()),
  maximum: orNull(Type.Number()),
  choices: orNull(Type.Array(text)),
})
const checkAnswer = object({
  name: orNull(text),
  title: orNull(text),
  faults: Type.Array(object({ path: text, message: text, line: count, column: count })),
  tests: orNull(Type.Integer({ description: 'wire tests that hold; null where it did not come to them' })),
  commands: Type.Array(object({ name: text, title: orNull(text), args: Type.Array(arg) })),
})

interface DefinitionRouteParts {
  definitions: UiDefinitions
  journal: Pick<Journal, 'record'>
}

export function uiDefinitionRoutes(gate: UiGate, { definitions, journal }: DefinitionRouteParts): Route[] {
  const told = (who: string, what: string, target: string) => journal.record({ who, from: 'page', what, target })
  return [
    gate.open({
      method: 'GET',
      path: '/ui/definitions/schema',
      reply: Type.Record(Type.String(), Type.Unknown()),
      summary: 'The JSON schema of device definitions',
      handle: () => granted(SCHEMA),
    }),
    gate.elevated({
      method: 'GET',
      path: '/ui/definitions',
      reply: listAnswer,
      summary: 'Device definitions of this machine, with the devices that use them',
      handle: () => granted({ definitions: definitions.list() }),
    }),
    gate.elevated({
      method: 'GET',
      path: '/ui/definitions/open',
      query: readName,
      reply: openAnswer,
      summary: 'One device definition as text',
      handle: ({ query }) => granted(definitions.open(readName({ ...(query as object) }).name) ?? noSuch()),
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/definitions/check',
      body: readText,
      reply: checkAnswer,
      summary: 'Everything that is wrong with a definition, by line, and whether its wire tests hold; keeps nothing',
      handle: ({ body }) => granted(definitions.check(readText(body).text)),
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/definitions/save',
      body: readSave,
      reply: openAnswer,
      isRecordedFirst: true,
      summary: 'Keeps a definition of this machine, and drives its devices by it at once',
      async handle({ body, session }) {
        const { text: said, revision } = readSave(body)
        const kept = await definitions.save(said, revision)
        told(session.username, 'definition kept', kept.name)
        return granted(kept, `definition ${kept.name}`)
      },
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/definitions/remove',
      body: readNamed,
      reply: doneAnswer,
      isRecordedFirst: true,
      summary: 'Removes a definition of this machine; that of the package of the same name comes back',
      async handle({ body, session }) {
        const { name } = readNamed(body)
        await definitions.remove(name)
        told(session.username, 'definition removed', name)
        return granted({ success: true }, `definition ${name}`)
      },
    }),
  ]
}

const SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Device definition',
  ...deviceDefinition,
}

/** @throws Fault `bad_fields` */
function noSuch(): never {
  throw fieldsFault([{ field: 'name', message: 'There is no such definition.' }])
}
