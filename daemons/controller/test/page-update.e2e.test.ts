/** Updates on the page of the built controller, in a browser: each state that a person meets, with a service of the test. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { until } from '#kit/test/until.ts'
import { AWAY, noBrowser, openRig } from '#kit/test/web/page-rig.ts'
import { openRestSite, type SiteOptions } from './rest-site.ts'
import { PASSWORD } from './rest-site-rows.ts'
import { installedController, playedService } from './update-machine.ts'

/** The system page, for somebody who is elevated. */
async function systemPage(t: Test, options: SiteOptions) {
  const site = await openRestSite(t, options)
  const rig = await openRig(t, site.url(), { pictures: 'controller', wanted: AWAY })
  const { page, visit } = rig
  async function signIn(): Promise<void> {
    await page.getByLabel('User name').fill('ada')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByText('Signed in as').waitFor()
    await visit('system')
  }
  await signIn()
  return { ...rig, signIn, site, panel: page.getByRole('region', { name: 'Updates' }) }
}

t.test(
  'C.1 C.3 an update by the page: looked for, asked, watched, and what came of it',
  {
    ...{ skip: noBrowser },
  },
  async (t) => {
    const machine = installedController(t)
    const service = await playedService(t, machine)
    service.end('settled', 'no update was cut off, nothing to do')
    const { audit, complaints, page, panel, signIn, site } = await systemPage(t, {
      command: machine.command,
      sets: [...service.sets, 'updating.window=03:00-04:00'],
    })
    await panel.getByText('No update was looked for yet.').waitFor()

    await panel.getByRole('button', { name: 'Look now' }).click()
    await until('it is asked for', () => service.asks.length === 1)
    await panel.getByText('Looking').waitFor()
    service.end('current', 'already current, nothing to do', { looked: { at: Date.now(), newest: null } })
    await panel.getByText('Plantroom 0.1.0 runs, and nothing newer is offered').waitFor()
    await audit(t, 'update-current', 'unpictured')

    await panel.getByRole('button', { name: 'Look now' }).click()
    await until('it is asked for', () => service.asks.length === 2)
    service.end('failed', 'the update server https://updates.example.org:3131 does not answer (ECONNREFUSED)')
    await panel.getByText('Plantroom 0.1.0 runs, and no update could be looked for').waitFor()
    await panel.getByText('does not answer').waitFor()
    await audit(t, 'update-silent', 'unpictured')

    await panel.getByRole('button', { name: 'Look now' }).click()
    await until('it is asked for', () => service.asks.length === 3)
    service.end('failed', 'no update server is set: set update_url to its address')
    await panel.getByText('No update server is set: set update_url to its address').waitFor()

    await panel.getByRole('button', { name: 'Look now' }).click()
    await until('it is asked for', () => service.asks.length === 4)
    service.end('available', '0.2.0 is there', { looked: { at: Date.now(), newest: '0.2.0' } })
    await panel.getByText('Plantroom 0.2.0 is there, and 0.1.0 runs').waitFor()
    await panel.getByText('It is applied by itself between 03:00 and 04:00.').waitFor()
    await audit(t, 'update')

    await panel.getByRole('button', { name: 'Update to 0.2.0' }).click()
    await page.getByRole('dialog').getByText('macros that run come to their end').waitFor()
    await audit(t, 'update-confirm', 'unpictured')
    await page.getByRole('dialog').getByRole('button', { name: 'Stay with 0.1.0' }).click()
    await panel.getByRole('button', { name: 'Update to 0.2.0' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Update to 0.2.0' }).click()
    await until('it is asked for', () => service.asks.at(-1) === 'apply')
    for (const line of [
      '0.2.0 is there, 0.1.0 runs',
      'the states are kept in /var/lib/plantroom/update/backups/0.1.0-to-0.2.0',
    ]) {
      service.say(line)
      await panel.getByText(line).waitFor()
    }
    service.say('12.4 of 34.1 MB of 0.2.0 are here')
    await panel.getByText('12.4 of 34.1 MB of 0.2.0 are here').waitFor()
    t.ok(await panel.getByRole('button', { name: 'Look now' }).isDisabled())
    await audit(t, 'update-running')

    await site.restart()
    service.say('0.2.0 answers; it is watched for 60 s')
    // It listens elsewhere now.
    await page.goto(site.url())
    await signIn()
    await panel.getByText('0.2.0 answers; it is watched for 60 s').waitFor()
    const text =
      '0.2.0 was taken back, and 0.1.0 runs again: recorder has ended: journalctl -u plantroom-recorder.service'
    const bad = 'recorder has ended: journalctl -u plantroom-recorder.service'
    service.end('rolled_back', text, {
      looked: { at: Date.now(), newest: '0.2.0', bad },
      last: { at: Date.now(), outcome: 'rolled_back', text },
    })
    await panel.getByText('Plantroom 0.2.0 was taken back', { exact: true }).waitFor()
    await panel.getByText('What the last update said').click()
    await panel.getByText('12.4 of 34.1 MB of 0.2.0 are here').waitFor()
    await audit(t, 'update-taken-back')
    t.equal(await panel.getByRole('button', { name: 'Update to' }).count(), 0, 'it is not offered again')

    await panel.getByRole('button', { name: 'Look now' }).click()
    await until('it is asked for', () => service.asks.at(-1) === 'check')
    service.end('failed', 'macros ran for all of the 10 min that an update waits for them')
    t.same(complaints, [])
  },
)

t.test('C.3 Restart asks first, and the page comes back to sign in', { skip: noBrowser }, async (t) => {
  const { audit, page, panel } = await systemPage(t, {})
  await panel.getByText(/which its installer did not make: update it as it was installed/).waitFor()
  t.equal(await panel.getByRole('button', { name: 'Look now' }).count(), 0)
  await panel.getByRole('button', { name: 'Restart the controller' }).click()
  await page.getByRole('dialog').getByText('everybody signs in again').waitFor()
  await audit(t, 'restart-confirm', 'unpictured')
  await page.getByRole('dialog').getByRole('button', { name: 'Restart the controller' }).click()
  await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
})

t.test('where Plantroom is a Debian package the page says that apt updates it', { skip: noBrowser }, async (t) => {
  const bin = mkdtempSync(join(tmpdir(), 'plantroom-dpkg-'))
  t.teardown(() => rmSync(bin, { recursive: true, force: true }))
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, 'dpkg-query'), '#!/bin/sh\necho "plantroom: $2"\n')
  chmodSync(join(bin, 'dpkg-query'), 0o755)
  const { command } = installedController(t)
  const { audit, panel } = await systemPage(t, { command, within: () => ['env', `PATH=${bin}:${process.env.PATH}`] })
  await panel.getByText('This Plantroom belongs to the Debian package plantroom, and apt updates it').waitFor()
  t.equal(await panel.getByRole('button', { name: 'Look now' }).count(), 0)
  await audit(t, 'update-apt', 'unpictured')
})

t.test('without an update service the page says what to switch on', { skip: noBrowser }, async (t) => {
  const machine = installedController(t)
  const { audit, panel } = await systemPage(t, { command: machine.command })
  await panel.getByText('There is no update service on this machine to ask').waitFor()
  await audit(t, 'update-absent', 'unpictured')
})
