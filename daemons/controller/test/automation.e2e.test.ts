/** Schedules, triggers and webhooks of the built controller: what they start, what is refused, and what the audit says. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of macros are written like that
import t from 'tap'
import { webhookSignature } from '#kit/net/signature.ts'
import { until } from '#kit/test/until.ts'
import { noMailServer, startMailServer } from './mail-server.ts'
import type { RestSite, Told } from './rest-site.ts'
import { openTimedSite } from './timed-site.ts'

const SECRET = 'the bell knows this one'
/** Between two times of the schedule: none comes by itself while the test runs. */
const PERIOD_MS = 30 * 60_000

const set = (attribute: string, value: string) => ({ type: 'set', args: { attribute, value } })
const on = (zone: object) => ({ command: 'on', ...zone })

const MACROS: Record<number, { name: string; steps: object[]; elevated?: boolean; mode?: string }> = {
  10: { name: 'Half', steps: [on({ zone_id: 1, args: { at: '${args.at}' } })] },
  11: { name: 'Say night', steps: [set('mode', 'night')] },
  12: { name: 'At night', steps: [on({ zone_id: 2, args: { mode: '${args.mode}' } })] },
  13: { name: 'Ring', steps: [on({ args: { zone: '${args.zone}', who: '${args.who}' } })], mode: 'parallel' },
  14: { name: 'Echo', steps: [set('ping', '${args.before}x')], mode: 'parallel' },
  15: { name: 'Hold', steps: [{ type: 'delay', args: { ms: 600_000 } }] },
  16: { name: 'Tell', steps: [{ type: 'notify', args: { text: 'It rang', to: 'tara', subject: 'Bell' } }] },
}

const rows: Record<string, unknown[]> = {
  site: [{ id: 7, name: 'House', timezone: 'Europe/Amsterdam', latitude: 52.4, longitude: 4.9 }],
  macro: Object.entries(MACROS).map(([id, { steps, ...macro }]) => ({ id: Number(id), ...macro })),
  macro_step: Object.entries(MACROS).flatMap(([id, { steps }]) =>
    steps.map((step, at) => ({ macro_id: Number(id), position: at + 1, ...step })),
  ),
  attribute: [
    { id: 2, name: 'level', value: '70', system_target: 'zone', target_id: 4 },
    { id: 21, name: 'mode', value: 'day', system_target: 'controller' },
    { id: 22, name: 'ping', value: '', system_target: 'controller' },
  ],
  schedule: [
    { name: 'Half hours', macro_id: 10, cron: '*/30 * * * *', args: { at: '${args.due}' } },
    { name: 'Dusk', macro_id: 11, kind: 'sunset', offset_min: 10, enabled: false },
    { name: 'Some day', macro_id: 11, kind: 'at', at: 'late' },
  ],
  trigger: [
    {
      id: 1,
      name: 'Night',
      macro_id: 12,
      kind: 'attribute',
      attribute_id: 21,
      condition: { value: 'night' },
      args: { mode: '${args.value}' },
    },
    {
      id: 2,
      name: 'bell',
      macro_id: 13,
      kind: 'webhook',
      secret: SECRET,
      args: { zone: '${args.zone}', who: '${args.who}' },
    },
    { id: 3, name: 'Loop', macro_id: 14, kind: 'attribute', attribute_id: 22, args: { before: '${args.value}' } },
    {
      ...{ id: 5, name: 'Bright', macro_id: 12, kind: 'attribute', attribute_id: 2, args: { mode: '${args.value}' } },
      condition: { op: '>', value: 50, hysteresis: 10 },
    },
    { id: 4, name: 'mail', macro_id: 16, kind: 'webhook', secret: SECRET },
  ],
}

/** Posts a signed body, as another system does. */
function ring(site: RestSite, body: unknown, { name = 'bell', secret = SECRET, signature = '' } = {}): Promise<Told> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const headers = { 'x-svc-signature': signature || webhookSignature(Buffer.from(text), secret) }
  return site.call('POST', `/hooks/${name}`, { body: text, headers })
}

async function recordsOf(site: RestSite, token: string, query: string): Promise<Record<string, unknown>[]> {
  return (await site.get(`/api/data/request_history?${query}&_orderby=id`, token)).body
}

t.test('what the building does by itself', async (t) => {
  const mail = noMailServer ? undefined : await startMailServer(t)
  const smtp = mail ? ['smtp.host=127.0.0.1', `smtp.port=${mail.port}`, 'smtp.from=house@example.org'] : []
  const { clock, site } = await openTimedSite(t, {
    rows,
    sets: ['schedules.look_ms=100', 'triggers.hook_calls=1000', ...smtp],
  })
  const ada = await site.tokenOf('ada')
  const page = await site.pageOf('ada')

  await t.test('a schedule runs its macro on its devices, once a time, and the audit says so', async (t) => {
    const before = (await page('GET', '/ui/automation')).body
    t.match(before.schedules, [
      { name: 'Half hours', kind: 'cron', macro_id: 10, next_at: Number, last_at: null, flaw: null },
      { name: 'Dusk', enabled: false, next_at: null },
      { name: 'Some day', next_at: null, flaw: /^at is "late"/ },
    ])
    const due = before.schedules[0].next_at
    t.equal(due % PERIOD_MS, 0)
    clock.stepWall(due - clock.epochMs())
    await until('the line has come', () => site.lines.some((line) => line.startsWith('Z1 on')))
    t.same(site.lines, [`Z1 on {"at":"${new Date(due).toISOString()}"}`])
    clock.stepWall(-30_000)
    const after = (await page('GET', '/ui/automation')).body
    t.match(after.schedules[0], { last_at: due, next_at: due + PERIOD_MS })
    let record: Record<string, unknown> | undefined
    await until('the run is recorded', async () => {
      record = (await recordsOf(site, ada, 'request_type=schedule'))[0]
      return record !== undefined
    })
    t.match(record, {
      ...{ path: '/schedule/1', user_id: null, granted: true, target: 'macro 10', outcome: 'done' },
      action: 'macro "Half" by schedule "Half hours"',
    })
    t.match((await site.get(`/api/data/macro_run?id=${record?.run_id}`, ada)).body, [
      { macro_id: 10, user_id: null, result: 'done' },
    ])
  })

  await t.test('a schedule that ran goes on from there after a restart', async (t) => {
    site.lines.length = 0
    await site.restart()
    const token = await site.tokenOf('ada')
    const [kept] = (await site.get('/api/data/schedule?id=1', token)).body
    t.equal(kept.last_at % PERIOD_MS, 0)
    clock.stepWall(kept.last_at + PERIOD_MS - clock.epochMs())
    await until('the next line has come', () => site.lines.length > 0)
    t.same(site.lines, [`Z1 on {"at":"${new Date(kept.last_at + PERIOD_MS).toISOString()}"}`])
    // The others are not to be disturbed by it.
    await site.stage({ schedule: [{ id: 1, enabled: false }] })
    t.equal((await site.applyAll()).status, 200)
    site.lines.length = 0
  })

  const token = await site.tokenOf('ada')

  await t.test('an attribute that comes to fit a condition starts a macro', async (t) => {
    t.match((await site.post('/api/control/macro', { macro: 'Say night' }, token)).body, { state: 'done' })
    await until('the line has come', () => site.lines.length > 0)
    t.same(site.lines, ['Z2 on {"mode":"night"}'])
    let record: Record<string, unknown> | undefined
    await until('the run is recorded', async () => {
      record = (await recordsOf(site, token, 'path=/trigger/1'))[0]
      return record !== undefined
    })
    t.match(record, { action: 'macro "At night" by trigger "Night"', outcome: 'done', reason: null })
    site.lines.length = 0
  })

  await t.test('what a device says starts a macro, as it comes to fit the condition', async (t) => {
    const say = async (levels: number[]) => {
      for (const level of levels)
        t.match((await site.post('/api/control/command', { zone: 'Lamp', level }, token)).body, { success: true })
    }
    await say([10, 45, 60])
    // While it runs it is not started again.
    await until('its run has ended', async () => (await recordsOf(site, token, 'path=/trigger/5')).length > 0)
    await say([45, 55, 30, 52])
    await until('both lines have come', () => site.lines.length > 1)
    t.same(site.lines, ['Z2 on {"mode":"60"}', 'Z2 on {"mode":"52"}'])
    site.lines.length = 0
  })

  await t.test('a loop of macros and triggers ends, and is told', async (t) => {
    t.match((await site.post('/api/control/macro', { macro: 'Echo', args: { before: '' } }, token)).body, {
      state: 'done',
    })
    let refused: Record<string, unknown>[] = []
    await until('it is refused', async () => {
      refused = await recordsOf(site, token, 'path=/trigger/3&granted=false')
      return refused.length > 0
    })
    t.match(refused, [{ reason: 'trigger_limit', outcome: 'refused', detail: /may be a loop/ }])
    const [ping] = (await site.get('/api/data/attribute?id=22', token)).body
    t.equal(ping.value, 'x'.repeat(9), 'the first, and eight by triggers')
  })

  await t.test('a signed call of a webhook starts its macro', async (t) => {
    t.match(await ring(site, { zone: 'Hall', who: 'postman' }), { status: 202, body: { accepted: true } })
    await until('the line has come', () => site.lines.length > 0)
    t.same(site.lines, ['Z1 on {"who":"postman"}'])
    t.match(await ring(site, { zone: 'Hall', who: 'again' }, { name: '2' }), { status: 202 })
    await until('the next line has come', () => site.lines.length > 1)
    const [call] = await recordsOf(site, token, 'path=/hooks/bell')
    t.match(call, {
      request_type: 'hook',
      method: 'POST',
      status: 202,
      granted: true,
      target: 'trigger 2',
      user_id: null,
    })
    site.lines.length = 0
  })

  await t.test('a call that is not signed, wrongly signed, or for no webhook is refused alike', async (t) => {
    const body = { zone: 'Hall', who: 'thief' }
    const answers = [
      await ring(site, body, { secret: 'some other secret' }),
      await ring(site, body, { signature: 'sha256=00' }),
      await ring(site, `${JSON.stringify(body)} `, {
        signature: webhookSignature(Buffer.from(JSON.stringify(body)), SECRET),
      }),
      await site.call('POST', '/hooks/bell', { body: JSON.stringify(body) }),
      await ring(site, body, { name: 'nothing' }),
      await ring(site, body, { name: 'Night' }),
      await ring(site, body, { name: '9999' }),
    ]
    for (const { status, body: told } of answers) t.same([status, told], [401, answers[0]?.body])
    const refused = await recordsOf(site, token, 'request_type=hook&granted=false')
    t.equal(refused.length, answers.length)
    t.match(refused[0], { reason: 'invalid_credential', status: 401, target: null })
  })

  await t.test('a body that is no JSON object, or too long, is refused', async (t) => {
    t.match(await ring(site, '[1]'), { status: 400 })
    t.match(await ring(site, '{"a": 1'), { status: 400 })
    t.match(await ring(site, { text: 'x'.repeat(40_000) }), { status: 413 })
    t.match(await ring(site, ''), { status: 202 }, 'no body is one without fields')
    t.equal((await site.call('GET', '/hooks/bell')).status, 405)
  })

  await t.test('what a caller names is reached as far as the macro is elevated', async (t) => {
    for (const zone of ['Kettle', 'Vault']) t.match(await ring(site, { zone, who: 'thief' }), { status: 202 })
    let refused: Record<string, unknown>[] = []
    await until('both are refused', async () => {
      refused = await recordsOf(site, token, 'path=/trigger/2&reason=elevation_denied')
      return refused.length === 2
    })
    t.match(refused[0], { granted: false, outcome: 'failed', detail: /not authorized/ })
    t.same(site.lines, [])
  })

  await t.test('a run is ended on the page, by who began it or an administrator', async (t) => {
    const olga = await site.pageOf('olga')
    const again = await site.pageOf('ada')
    void site.post('/api/control/macro', { macro: 'Hold' }, token)
    let run: Record<string, unknown> | undefined
    await until('it runs', async () => {
      run = (await site.get('/api/data/macro_run?macro_id=15', token)).body[0]
      return run !== undefined
    })
    t.match((await olga('POST', '/ui/macro/cancel', { run_id: run?.id })).body, {
      success: false,
      error: 'unknown run',
    })
    // It can be ended as soon as its row is on the disk, which is a moment after the row is seen.
    let ended: Told | undefined
    await until('it is ended', async () => {
      ended = await again('POST', '/ui/macro/cancel', { run_id: run?.id })
      return ended.body.success
    })
    t.match(ended?.body, { success: true, state: 'cancelled', run_id: run?.id })
    await until('its row is over', async () => {
      const [row] = (await site.get(`/api/data/macro_run?id=${run?.id}`, token)).body
      return row.result === 'cancelled'
    })
  })

  await t.test('a notice is mailed to the user that it names', { skip: noMailServer }, async (t) => {
    t.match(await ring(site, '', { name: 'mail' }), { status: 202 })
    await until('the letter has come', () => mail?.taken.length === 1)
    t.match(mail?.taken, [{ to: ['tara@example.org'], content: /Subject: Bell\r\n[\s\S]*It rang/ }])
  })
})
