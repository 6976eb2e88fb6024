/** The page of events in a browser. */
import { join } from 'node:path'
import t from 'tap'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { noBrowser, openRig } from '#kit/test/web/page-rig.ts'
import { LONG_MS, startCamera } from './camera.ts'
import { admin, clientOf } from './client.ts'
import { makeWalk } from './walk.ts'

t.test('events are listed with pictures, filtered, and lead to their footage', { skip: noBrowser }, async (t) => {
  const work = stateFolderOf(t)
  const sets = [
    'storage.free_bytes=0',
    'storage.file_s=5',
    `pictures.start_ms=${LONG_MS}`,
    `pictures.answer_ms=${LONG_MS}`,
  ]
  const recorder = await startDaemon(t, 'recorder', { stateFolder: join(work, 'state'), sets })
  const boss = clientOf(recorder.url)
  await boss.setUp()
  await boss.call('PATCH', '/api/onboarding', { step: 'complete' })
  const camera = await startCamera(t, await makeWalk(work, 180))
  for (const name of ['Loading bay', 'Gate']) await boss.call('POST', '/api/discovery/rtsp', { name, url: camera.url })
  // A picture of what has just begun may not be there yet.
  const { audit, page, visit } = await openRig(t, recorder.url, { pictures: 'recorder', wanted: /status of 404/ })
  await page.getByLabel('User name').fill(admin.username)
  await page.getByLabel('Password').fill(admin.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await visit('events')
  await page.getByText('Nothing looks at the cameras', { exact: true }).waitFor()
  await audit(t, 'events-none')
  await page.getByRole('button', { name: 'Look for motion' }).click()
  await page.getByText('The recorder looks for motion.').first().waitFor()
  const over = async () =>
    (await boss.call('GET', '/api/events')).body.events.filter(
      ({ ended_at: end }: { ended_at: unknown }) => end !== null,
    )
  await until('some are over', async () => (await over()).length >= 2, LONG_MS)
  await visit('events')
  const shown = "document.querySelector('.events img')?.naturalWidth"
  await until('a picture is shown', async () => ((await page.evaluate<number>(shown)) ?? 0) > 0, LONG_MS)
  await audit(t, 'events')
  await page.getByLabel('What was seen').selectOption('person')
  await page.getByText('Nothing like this was seen').waitFor()
  await page.getByLabel('What was seen').selectOption('other')
  await page.getByLabel('Camera', { exact: true }).selectOption({ label: 'Gate' })
  const others = page.locator('.events li', { hasText: 'Loading bay' })
  const own = page.locator('.events li', { hasText: 'Gate' })
  // Not while the list is fetched, and empty.
  await until('one camera alone', async () => (await own.count()) > 0 && (await others.count()) === 0, LONG_MS)
  await page.locator('.events a').first().click()
  await page.waitForURL(/playback\/[0-9a-f]{8}\/\d+/)
  await until('the timeline has bars', async () => (await page.locator('.strip s').count()) > 0, LONG_MS)
  await page.getByText(/recorded.* [\d,]+ events?\.$/).waitFor()
  await audit(t, 'playback-seen')
  // 3A.deep links
  const [{ id, camera_id: of, started_at: at }] = await over()
  await page.goto(`${recorder.url}/events?event=${id}`)
  await page.getByRole('link', { name: 'All events' }).waitFor()
  await until('it stands alone', async () => (await page.locator('.events li').count()) === 1, LONG_MS)
  t.match(await page.locator('.events a').getAttribute('href'), `#/playback/${of}/`)
  await audit(t, 'events-one')
  await page.goto(`${recorder.url}/events?event=${of}-1-1`)
  await page.getByText('There is no such event').waitFor()
  await page.goto(`${recorder.url}/playback?camera=${of}&at=${at}`)
  await page.waitForURL(new RegExp(`#/playback/${of}/${at}`))
  await page.goto(`${recorder.url}/?camera=${of}`)
  await page.waitForURL(new RegExp(`#/camera/${of}`))
})
