/** What the disk knows of outputs and rules. */
import { type Static, Type } from 'typebox'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { openSeal } from '#kit/store/sealing.ts'
import { createStore } from '#kit/store/store.ts'
import { cameraEventKinds } from '../core/camera-events/meaning.ts'
import { type OutputState, outputStates } from '../core/outputs/outputs.ts'
import { channels, directions, groups, type Rule, sensitivities } from '../core/rules/rule.ts'

const VERSION = 1 as const
const strict = { additionalProperties: false }

const outputsFile = Type.Object(
  {
    version: Type.Literal(VERSION),
    states: Type.Array(
      Type.Object(
        {
          ...{ camera: Type.String(), output: Type.String(), on: Type.Boolean() },
          offAt: Type.Union([Type.Integer(), Type.Null()]),
        },
        strict,
      ),
    ),
  },
  strict,
)

/** What was set last of each output, and saving it. @param folder the state folder */
export async function openOutputs(folder: string, log: Log) {
  const initial = () => ({ version: VERSION, states: [] as OutputState[] })
  const store = createStore({ folder, name: 'camera-outputs', log, check: createReader(outputsFile), initial })
  const { states } = await store.load()
  return { states, save: (next: readonly OutputState[]) => store.save({ version: VERSION, states: [...next] }) }
}

const texts = Type.Array(Type.String())
const numberOrNull = Type.Union([Type.Number(), Type.Null()])
const textOrNull = Type.Union([Type.String(), Type.Null()])
const goesBack = { returnPreset: textOrNull, returnAfterSeconds: Type.Integer() }
const ofCamera = <Name extends string>(type: Name) => ({ type: Type.Literal(type), cameraId: Type.String() })

const action = Type.Union([
  Type.Object({ type: Type.Literal('notify'), userIds: texts, channels: Type.Array(Type.Enum([...channels])) }, strict),
  Type.Object({ type: Type.Literal('webhook'), url: Type.String(), sealedSecret: textOrNull }, strict),
  Type.Object({ ...ofCamera('ptz_preset'), preset: Type.String(), ...goesBack }, strict),
  Type.Object({ ...ofCamera('ptz_aim'), zoom: numberOrNull, ...goesBack }, strict),
  Type.Object(
    {
      ...{ ...ofCamera('output'), outputId: Type.String(), seconds: Type.Integer() },
      state: Type.Enum([...outputStates]),
    },
    strict,
  ),
  Type.Object({ ...ofCamera('talk_message'), messageId: Type.String(), repeat: Type.Integer() }, strict),
  Type.Object({ type: Type.Literal('preserve'), beforeSeconds: Type.Integer(), afterSeconds: Type.Integer() }, strict),
  Type.Object({ type: Type.Literal('arm'), armed: Type.Boolean(), ruleIds: texts, minutes: Type.Integer() }, strict),
])
const trigger = Type.Union([
  Type.Object({ type: Type.Enum(['detection', 'departure', 'button']) }, strict),
  Type.Object({ type: Type.Literal('occupancy'), count: Type.Integer(), seconds: Type.Integer() }, strict),
  Type.Object({ type: Type.Literal('absence'), seconds: Type.Integer() }, strict),
  Type.Object({ type: Type.Literal('fault'), codes: texts }, strict),
  Type.Object({ type: Type.Literal('camera_event'), kinds: Type.Array(Type.Enum([...cameraEventKinds])) }, strict),
  Type.Object(
    {
      ...{ type: Type.Literal('unusual'), direction: Type.Enum([...directions]), minutes: Type.Integer() },
      sensitivity: Type.Enum([...sensitivities]),
    },
    strict,
  ),
])
const rulesFile = Type.Object(
  {
    version: Type.Literal(VERSION),
    rules: Type.Array(
      Type.Object(
        {
          ...{ id: Type.String(), name: Type.String(), trigger, cameraIds: texts, labels: texts },
          groups: Type.Array(Type.Enum([...groups])),
          schedule: Type.Union([
            Type.Object({ days: Type.Array(Type.Integer()), from: Type.String(), to: Type.String() }, strict),
            Type.Null(),
          ]),
          ...{ cooldownSeconds: Type.Integer(), armed: Type.Boolean() },
          temporary: Type.Union([Type.Object({ armed: Type.Boolean(), until: Type.Integer() }, strict), Type.Null()]),
          actions: Type.Array(action),
        },
        strict,
      ),
    ),
  },
  strict,
)
type SavedRules = Static<typeof rulesFile>

/**
 * The saved rules, and saving them. A secret that does not open is as good as none.
 * @param folder the state folder
 */
export async function openRules(folder: string, log: Log) {
  const seal = await openSeal(folder)
  const boundTo = (rule: string) => `secret of a webhook of rule ${rule}`

  function opened(rule: string, sealed: string | null): string | null {
    try {
      return sealed === null ? null : seal.open(sealed, boundTo(rule))
    } catch (fault) {
      log.error('the secret of a webhook does not open: give it anew', { rule, fault })
      return null
    }
  }

  const initial = (): SavedRules => ({ version: VERSION, rules: [] })
  const store = createStore({ folder, name: 'action-rules', log, check: createReader(rulesFile), initial })
  const { rules: saved } = await store.load()
  const rules: Rule[] = saved.map((rule) => ({
    ...rule,
    actions: rule.actions.map((one) =>
      one.type === 'webhook' ? { type: one.type, url: one.url, secret: opened(rule.id, one.sealedSecret) } : one,
    ),
  }))
  const sealedOf = ({ id }: Rule, secret: string | null) => (secret === null ? null : seal.close(secret, boundTo(id)))
  async function save(next: readonly Rule[]): Promise<void> {
    const list = next.map((rule) => ({
      ...rule,
      actions: rule.actions.map((one) =>
        one.type === 'webhook' ? { type: one.type, url: one.url, sealedSecret: sealedOf(rule, one.secret) } : one,
      ),
    }))
    // Lists that nobody changes in place.
    await store.save({ version: VERSION, rules: list as SavedRules['rules'] })
  }
  return { rules, save }
}
