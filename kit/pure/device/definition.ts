/** The format of a device definition: a JSON file that describes how a device is spoken to, without code. */
import { type Static, type TSchema, Type } from 'typebox'
import { CHECKSUM_KINDS } from './checksum.ts'

/** The bounds of a definition. Those of lists and texts stand in the schema below. */
export const DEFINITION_LIMITS = {
  /** Bytes of the file. */
  fileBytes: 262_144,
  commands: 256,
  attributes: 128,
  /** Arguments of one command, and keys of `config`. */
  args: 12,
  enums: 32,
  /** Names of one enum. */
  enumNames: 64,
  templateChars: 512,
  patternChars: 256,
  /** Places and literals of one pattern. */
  pieces: 32,
  /** Patterns of one command, and of one step of the login. */
  patterns: 8,
  /** Messages that the device sends by itself. */
  unsolicited: 128,
  errors: 32,
  polls: 32,
  loginSteps: 16,
  tests: 1024,
  /** Bytes of one message to the device, or from it. */
  messageBytes: 1024,
} as const

const LIMITS = DEFINITION_LIMITS
const strict = { additionalProperties: false }

/** Names of commands, arguments and attributes. */
const NAME = '^[a-z][a-z0-9_]{0,39}$'

const named = <Value extends TSchema>(value: Value, most: number, description: string) =>
  Type.Record(Type.String({ pattern: NAME }), value, { maxProperties: most, description })

const text = (maxLength: number, description: string) => Type.String({ minLength: 1, maxLength, description })
const title = Type.Optional(text(80, 'what people read'))
const template = (description: string) => Type.String({ minLength: 1, maxLength: LIMITS.templateChars, description })
const pattern = Type.String({
  minLength: 1,
  maxLength: LIMITS.patternChars,
  description: 'pattern of a whole message, without its delimiter and checksum',
})

/** What stands for a value in a message. */
const code = Type.Union([Type.String({ minLength: 1, maxLength: 64 }), Type.Integer()])

// Where and how the device is reached.

const transport = Type.Union([
  Type.Object({ kind: Type.Literal('tcp'), port: Type.Integer({ minimum: 1, maximum: 65_535 }) }, strict),
  Type.Object({ kind: Type.Literal('udp'), port: Type.Integer({ minimum: 1, maximum: 65_535 }) }, strict),
  Type.Object(
    {
      kind: Type.Literal('serial'),
      baud: Type.Integer({ minimum: 50, maximum: 4_000_000 }),
      data_bits: Type.Integer({ default: 8, minimum: 5, maximum: 8 }),
      parity: Type.Enum(['none', 'odd', 'even', 'mark', 'space'], { default: 'none' }),
      stop_bits: Type.Enum([1, 1.5, 2], { default: 1 }),
    },
    strict,
  ),
])

const framing = Type.Union([
  Type.Object(
    { mode: Type.Literal('delimiter'), delimiter: text(16, 'what ends a message of the device, such as "\\r\\n"') },
    strict,
  ),
  Type.Object(
    { mode: Type.Literal('length'), length: Type.Integer({ minimum: 1, maximum: LIMITS.messageBytes }) },
    strict,
  ),
  Type.Object(
    {
      mode: Type.Literal('length_field'),
      offset: Type.Integer({ minimum: 0, maximum: 255, description: 'bytes before the field' }),
      size: Type.Enum([1, 2, 4]),
      endian: Type.Enum(['big', 'little'], { default: 'big' }),
      form: Type.Enum(['binary', 'hex'], { default: 'binary', description: 'how the field is written' }),
      adjust: Type.Integer({ minimum: -256, maximum: 1024, description: 'added to the field for the whole message' }),
    },
    strict,
  ),
  Type.Object({ mode: Type.Literal('silence'), silence_ms: Type.Integer({ minimum: 1, maximum: 10_000 }) }, strict),
])

const checksum = Type.Object(
  {
    kind: Type.Enum([...CHECKSUM_KINDS]),
    from: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 64,
      description: 'bytes at the beginning that do not count',
    }),
    form: Type.Enum(['high', 'low', 'hex'], { default: 'high', description: 'high or low byte first, or hex digits' }),
    tail: Type.Optional(text(16, 'what stands behind the checksum, in both directions')),
  },
  strict,
)

const timing = Type.Object(
  {
    reply_ms: Type.Integer({
      default: 1000,
      minimum: 50,
      maximum: 30_000,
      description: 'longest wait for an answer, ms',
    }),
    gap_ms: Type.Integer({ default: 0, minimum: 0, maximum: 10_000, description: 'rest between two messages, ms' }),
  },
  { ...strict, default: {} },
)

// Values that go in.

const arg = Type.Union([
  Type.Object(
    {
      type: Type.Literal('integer'),
      min: Type.Integer(),
      max: Type.Integer(),
      default: Type.Optional(Type.Integer()),
      title,
    },
    strict,
  ),
  Type.Object(
    {
      type: Type.Literal('number'),
      min: Type.Number(),
      max: Type.Number(),
      default: Type.Optional(Type.Number()),
      title,
    },
    strict,
  ),
  Type.Object(
    { type: Type.Literal('boolean'), on: code, off: code, default: Type.Optional(Type.Boolean()), title },
    strict,
  ),
  Type.Object(
    {
      type: Type.Literal('enum'),
      of: Type.String({ pattern: NAME, description: 'one of enums' }),
      default: Type.Optional(Type.String()),
      title,
    },
    strict,
  ),
  Type.Object(
    {
      type: Type.Literal('text'),
      max_length: Type.Integer({ minimum: 1, maximum: 256, description: 'bytes' }),
      charset: Type.Enum(['ascii', 'latin1', 'utf8'], { default: 'ascii' }),
      except: Type.Optional(text(32, 'characters that it may not have')),
      secret: Type.Optional(Type.Boolean({ description: 'no answer and no log shows it; only of config' })),
      default: Type.Optional(Type.String({ maxLength: 256 })),
      title,
    },
    strict,
  ),
])

/** A value of the device, read from what it says. */
const attribute = Type.Union([
  Type.Object(
    {
      type: Type.Literal('number'),
      times: Type.Optional(Type.Number({ description: 'what it says is multiplied by this' })),
      add: Type.Optional(Type.Number({ description: 'and this is added' })),
      unit: Type.Optional(text(16, 'unit')),
      title,
    },
    strict,
  ),
  Type.Object({ type: Type.Literal('boolean'), on: code, off: code, title }, strict),
  Type.Object({ type: Type.Literal('enum'), of: Type.String({ pattern: NAME }), title }, strict),
  Type.Object({ type: Type.Literal('text'), title }, strict),
])

/** A value that is known without a place in the pattern. */
const constant = Type.Union([Type.Boolean(), Type.Number(), Type.String({ maxLength: 256 })])

const heard = Type.Object(
  { match: pattern, set: Type.Optional(named(constant, 16, 'attributes with a fixed value')) },
  strict,
)
const refusal = Type.Object({ match: pattern, says: text(200, 'what is wrong, for people') }, strict)

const command = Type.Object(
  {
    title,
    args: Type.Optional(named(arg, LIMITS.args, 'arguments')),
    send: template('what is sent, with {arg|filter} for values'),
    reply: Type.Optional(
      Type.Array(heard, {
        minItems: 1,
        maxItems: LIMITS.patterns,
        description: 'its answers; without, none is awaited',
      }),
    ),
    errors: Type.Optional(
      Type.Array(refusal, { maxItems: LIMITS.patterns, description: 'how the device refuses this command' }),
    ),
    sets: Type.Optional(
      named(
        Type.Union([
          Type.Object({ arg: Type.String({ pattern: NAME }) }, strict),
          Type.Object({ value: constant }, strict),
        ]),
        16,
        'attributes that are known once it is done',
      ),
    ),
    reply_ms: Type.Optional(
      Type.Integer({ minimum: 50, maximum: 30_000, description: 'its own wait for an answer, ms' }),
    ),
  },
  strict,
)

const loginCase = Type.Object(
  {
    match: pattern,
    leads_to: Type.Enum(['next', 'ready', 'fail'], { default: 'next' }),
    says: Type.Optional(text(200, 'of fail: what is wrong')),
  },
  strict,
)
const loginStep = Type.Object(
  {
    digest: Type.Optional(
      Type.Object(
        { kind: Type.Literal('md5'), of: template('what is digested'), name: Type.String({ pattern: NAME }) },
        { ...strict, description: 'a digest in lower-case hex, for what is sent from here on' },
      ),
    ),
    send: Type.Optional(template('what is sent')),
    expect: Type.Optional(Type.Array(loginCase, { minItems: 1, maxItems: LIMITS.patterns })),
  },
  strict,
)

// Wire tests, run whenever the definition is loaded.

const givenArgs = Type.Record(Type.String(), constant, { maxProperties: LIMITS.args })
const wireTest = Type.Object(
  {
    command: Type.Optional(Type.String({ maxLength: 64 })),
    args: Type.Optional(givenArgs),
    zone: Type.Optional(Type.String({ maxLength: 64, description: 'the zone it is for, or that it tells of' })),
    config: Type.Optional(givenArgs),
    sends: Type.Optional(template('the bytes that have to be sent')),
    hears: Type.Optional(template('what the device says, with its delimiter and checksum')),
    gives: Type.Optional(
      Type.Record(Type.String(), Type.Union([constant, Type.Null()]), { description: 'attributes that follow' }),
    ),
    fails: Type.Optional(Type.String({ maxLength: 200, description: 'the refusal that follows' })),
    login: Type.Optional(
      Type.Array(
        Type.Union([
          Type.Object({ hears: template('what the device says') }, strict),
          Type.Object({ sends: template('what has to be sent') }, strict),
        ]),
        { minItems: 1, maxItems: 32, description: 'a whole login, in order' },
      ),
    ),
  },
  strict,
)

/** The schema of a definition. What it cannot say is checked by compiling. */
export const deviceDefinition = Type.Object(
  {
    format: Type.Literal(1),
    name: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,62}$', description: 'its name, which is that of its file' }),
    version: Type.String({ pattern: '^\\d{1,4}\\.\\d{1,4}\\.\\d{1,4}$', description: 'such as 1.0.0' }),
    title: text(80, 'what people read'),
    makers: Type.Array(text(80, 'maker'), { minItems: 1, maxItems: 32 }),
    models: Type.Array(text(120, 'model or range'), { maxItems: 64, default: [] }),
    sources: Type.Array(
      Type.Object(
        { document: text(200, 'title and version'), url: Type.Optional(text(300, 'where it is published')) },
        strict,
      ),
      { minItems: 1, maxItems: 8, description: 'the documents it follows' },
    ),
    notes: Type.Optional(text(2000, 'what an installer has to set on the device')),
    transports: Type.Array(transport, { minItems: 1, maxItems: 4 }),
    framing,
    checksum: Type.Optional(checksum),
    timing,
    config: Type.Optional(named(arg, LIMITS.args, 'settings of one device, {$name} in templates')),
    enums: Type.Optional(named(named(code, LIMITS.enumNames, 'names'), LIMITS.enums, 'names and what stands for them')),
    attributes: Type.Optional(named(attribute, LIMITS.attributes, 'values of the device')),
    zones: Type.Optional(
      Type.Object(
        {
          arg: Type.String({
            pattern: NAME,
            description: 'the argument, and the place in patterns, that names the zone',
          }),
          title,
        },
        { ...strict, description: 'of a device with several zones, such as outputs' },
      ),
    ),
    login: Type.Optional(
      Type.Array(loginStep, {
        minItems: 1,
        maxItems: LIMITS.loginSteps,
        description: 'what is said on a new connection',
      }),
    ),
    commands: named(command, LIMITS.commands, 'commands'),
    errors: Type.Optional(
      Type.Array(refusal, { maxItems: LIMITS.errors, description: 'how the device refuses any command' }),
    ),
    unsolicited: Type.Optional(
      Type.Array(heard, { maxItems: LIMITS.unsolicited, description: 'what it says by itself' }),
    ),
    polls: Type.Optional(
      Type.Array(
        Type.Object(
          {
            command: Type.String({ pattern: NAME }),
            args: Type.Optional(givenArgs),
            every_ms: Type.Integer({ minimum: 100, maximum: 86_400_000 }),
            each_zone: Type.Optional(Type.Boolean({ description: 'once for each zone' })),
          },
          strict,
        ),
        { maxItems: LIMITS.polls, description: 'questions that are asked again and again' },
      ),
    ),
    tests: Type.Array(wireTest, {
      minItems: 1,
      maxItems: LIMITS.tests,
      description: 'wire tests; each command needs one',
    }),
  },
  strict,
)

export type DeviceDefinition = Static<typeof deviceDefinition>
export type ArgRule = Static<typeof arg>
export type AttributeRule = Static<typeof attribute>
export type WireTest = Static<typeof wireTest>
export type Enums = NonNullable<DeviceDefinition['enums']>

/** A value for people and programs. */
export type DeviceValue = string | number | boolean | null
