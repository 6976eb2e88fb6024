/** A building with a secret in every place, and the queries for it. */
import type { Outcome } from '../../../core/audit.ts'
import { answerData } from '../../../core/data/answer-data.ts'
import { bodyText } from '../../../core/json.ts'
import { plainCaller, type Tables, worldOf } from './data-house.ts'

const content: Tables = {
  zone: [
    { name: 'Hall', address: '7' },
    { name: 'Yard', address: '07' },
  ],
  device: [
    { name: 'Camera', username: 'root', password: 's3cret', api_key: 'k3y', config: { url: 'x', password: 'n3sted' } },
  ],
  channel_provider: [{ name: 'TV', config: { token: 't0ken', country: 'de' } }],
  attribute: [
    { name: 'temperature', value: '21.5', previous_value: '21', secure: false, system_target: 'zone', target_id: 1 },
    { name: 'door_code', value: '4711', previous_value: '4710', secure: true, system_target: 'zone', target_id: 1 },
    {
      name: 'wifiPassword',
      value: 'hunter2',
      previous_value: 'hunter1',
      secure: false,
      system_target: 'zone',
      target_id: 1,
    },
    {
      name: 'recorder',
      value: '{"host":"nas","sftp":{"password":"p"}}',
      previous_value: '{"push signing key":"q"}',
      secure: false,
      system_target: 'zone',
      target_id: 2,
    },
    { name: 'mode', value: 'auto', previous_value: 'off', secure: false, system_target: 'zone', target_id: 2 },
  ],
  auth_user: [
    { username: 'anna', hash: 'h4sh', salt: 's4lt', pin: '1234', two_factor_token: 'ABC', must_change_password: true },
  ],
  macro: [{ name: 'Night' }],
  license: [{ key_hint: 'ab', token: 't' }],
}
const world = worldOf(content)

export function asked(entity: string, query: string, caller = plainCaller): Outcome {
  const outcome = answerData(world, caller, entity, query)
  if (outcome instanceof Promise) throw new Error('an answer from memory came late')
  return outcome
}

export function bodyOf({ body }: Outcome): unknown {
  return 'json' in body ? body.json : JSON.parse(bodyText(body))
}

export function names(entity: string, query: string, caller = plainCaller): unknown[] {
  const body = bodyOf(asked(entity, query, caller))
  return Array.isArray(body) ? body.map((row) => row.name ?? row.username) : [body]
}
