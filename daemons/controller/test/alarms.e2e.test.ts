/** Alarms of the real controller by mail and webhook: an independent mail server, and a target that refuses at first. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { webhookSignature } from '#kit/net/signature.ts'
import { freePort } from '#kit/test/free-port.ts'
import { startDaemon } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { noMailServer, startMailServer } from './mail-server.ts'
import { PASSWORD, plantroom, post, SETS, tokenOf } from './operating.ts'

const MAIL_WORD = 'word of the mail server'
const HOOK_WORD = 'word of the webhook'

/** Names that try to get out of a header, and a name with letters. */
const NAMES = ['Rack', 'Küche: Rack 2', 'Rack%0d%0aBcc: eve@example.org', '=?utf-8?q?=0d=0aBcc:_eve@example.org?=']

/** Devices with these names, none of which is there. */
function siteOf(port: number, names: readonly string[]) {
  return {
    site: [{ name: 'Mill' }],
    device: names.map((name, at) => ({
      ...{ id: at + 1, name, driver: 'tcp', transport: { host: '127.0.0.1', port }, password: `device word ${at}` },
    })),
    zone: names.map((_, at) => ({ name: `Hall ${at + 1}`, device_id: at + 1, address: 'hall' })),
    auth_role: [{ name: 'Administrator', elevated: true, rules: ['allow api *'] }],
    auth_user: [{ username: 'ada', password: PASSWORD, roles: ['Administrator'], sites: ['Mill'] }],
  }
}

/** A target that answers 500 as often as it is told. */
async function startTarget(refusals: number) {
  const taken: { body: string; signature: unknown; entries: { what: string; where: string }[] }[] = []
  let asked = 0
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part) => parts.push(part))
    request.on('end', () => {
      const body = Buffer.concat(parts).toString()
      if (++asked <= refusals) return void response.writeHead(500).end()
      taken.push({ body, signature: request.headers['x-svc-signature'], ...JSON.parse(body) })
      response.writeHead(204).end()
    })
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/alarms`, taken, asked: () => asked }
}

t.test(
  'a device that is lost is told by mail and by webhook, after both have refused once',
  { skip: noMailServer },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'alarms-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const [file, state] = [join(folder, 'site.json'), join(folder, 'state')]
    const words = { mail: join(folder, 'mail-word'), hook: join(folder, 'hook-word') }
    writeFileSync(file, JSON.stringify(siteOf(await freePort(), NAMES)))
    writeFileSync(words.mail, `${MAIL_WORD}\n`)
    writeFileSync(words.hook, `${HOOK_WORD}\n`)
    t.match(await plantroom(['controller', 'import', file, '--state', state, '--config', '/dev/null']), { code: 0 })

    const mail = await startMailServer(t, { auth: ['house', MAIL_WORD], replies: ['451 not now'] })
    const target = await startTarget(1)
    const daemon = await startDaemon(t, 'controller', {
      stateFolder: state,
      sets: [
        ...SETS,
        ...[
          'smtp.host="127.0.0.1"',
          `smtp.port=${mail.port}`,
          'smtp.from="Mill <mill@example.org>"',
          'smtp.username="house"',
        ],
        ...[`smtp.password_file="${words.mail}"`, 'letters.first_ms=100', 'alarms.mail_to="house@example.org"'],
        ...[`alarms.url="${target.url}"`, `alarms.secret_file="${words.hook}"`, 'alarms.gather_ms=300'],
        ...['alarms.retry_first_ms=100', 'alarms.retry_max_ms=500', 'drivers.retry_first_ms=100'],
      ],
    })
    const token = await tokenOf(daemon)
    for (const at of NAMES.keys())
      await post(daemon, '/api/control/command', { zone: `Hall ${at + 1}`, command: 'on' }, token)

    const places = NAMES.map((name, at) => `device ${at + 1} ${name}`)
    const told = () => new Set(target.taken.flatMap(({ entries }) => entries.map(({ where }) => where)))
    await until('the webhook has told all', () => places.every((place) => told().has(place)))
    const texts = () => mail.taken.map(({ content = '' }) => unfolded(content)).join('\n')
    await until('mail has told all', () => NAMES.every((_, at) => texts().includes(`at device ${at + 1} `)))
    t.ok(target.asked() > target.taken.length, 'it was tried again')
    for (const { body, signature } of target.taken) t.equal(signature, webhookSignature(Buffer.from(body), HOOK_WORD))
    t.match(target.taken[0]?.body, /"role":"controller"/)

    const letters = mail.taken.filter(({ content }) => content !== undefined)
    t.match(mail.taken[0], { refused: '451 not now' })
    for (const { to, content = '', user } of letters) {
      t.same(to, ['house@example.org'])
      t.equal(user, 'house')
      const head = content.split('\r\n\r\n')[0] ?? ''
      t.notMatch(head, /^(bcc|cc):/im)
      t.match(head, /^Subject: .*Plantroom controller: fault: device_offline at/im)
      t.equal(head.match(/^To:/gim)?.length, 1)
    }
    await until('what could not be told is over', () =>
      /condition (opened|ended) what=alarm_undelivered/.test(daemon.output()),
    )
    t.equal(await daemon.stop(), 0)
    for (const word of [MAIL_WORD, HOOK_WORD, 'device word'])
      for (const [what, text] of [
        ['the log', daemon.output()],
        ['a letter', texts()],
        ['a webhook', target.taken.map(({ body }) => body).join('\n')],
      ] as const)
        t.notOk(text.includes(word), `${word} is not in ${what}`)
  },
)

t.test('an alarm that was not delivered is sent again after a power cut', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'alarms-cut-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const [file, state] = [join(folder, 'site.json'), join(folder, 'state')]
  writeFileSync(file, JSON.stringify(siteOf(await freePort(), ['Rack'])))
  t.match(await plantroom(['controller', 'import', file, '--state', state, '--config', '/dev/null']), { code: 0 })
  const target = await startTarget(Number.POSITIVE_INFINITY)
  const start = (url: string) =>
    startDaemon(t, 'controller', {
      stateFolder: state,
      sets: [...SETS, `alarms.url="${url}"`, 'alarms.gather_ms=100', 'alarms.retry_first_ms=100', 'ledger.save_ms=10'],
    })
  const daemon = await start(target.url)
  await post(daemon, '/api/control/command', { zone: 'Hall 1', command: 'on' }, await tokenOf(daemon))
  const kept = () => readFileSync(join(state, 'alarms.json'), 'utf8')
  await until('it waits, and is kept', () => {
    return target.asked() > 1 && existsSync(join(state, 'alarms.json')) && /"ids": \[\s*\d/.test(kept())
  })
  await daemon.stop('SIGKILL')

  const again = await startTarget(0)
  await start(again.url)
  await until('it is told', () => again.taken.length > 0)
  t.match(again.taken[0]?.entries, [{ what: 'device_offline', where: 'device 1 Rack' }])
  await until('nothing waits any more', () => /"ids": \[\]/.test(kept()))
})

/** A letter with its lines and words joined again, as a reader shows it. */
function unfolded(content: string): string {
  return content.replaceAll(/=\r\n/g, '').replaceAll(/\r\n[ \t]/g, ' ')
}
