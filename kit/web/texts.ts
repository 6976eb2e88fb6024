/**
 * Texts of the shared parts of pages: labels, empty states, toasts. Sorted by the file that shows them. Text between
 * the tags of a template stays in the template.
 */

import { counted } from '../pure/text.ts'

// Shell and banner (shell.ts)

export const nextTry = (age: string) => `Next try in ${age}.`
export const tryingNow = 'Trying now.'
export const valuesAreFrom = (time: string, next: string) => ` Values are from ${time}. ${next}`

// While a page is fetched (lazy.ts)

export const noContact = (box: string) => `No contact with this ${box}`
export const itIsAskedAgain = 'The page tries again every few seconds and comes back by itself.'
export const usuallyBrief = 'This usually takes less than a second.'
export const fetchingPage = 'Fetching this page'
export const fetchingMeans = 'It is stored on this device. Without contact the page waits and continues by itself.'
export const pageCouldNotBeFetched = 'This page could not be fetched'
export const pageIsOld = 'The device answers, but was updated since this page was opened. Reload to continue.'

// Calls (call.ts)

export const answeredWithoutReason = (status: number) => `The daemon answered ${status} without a reason.`
export const noAnswer = 'No answer. As far as this page knows, nothing was changed. It keeps trying.'

// Copying (copy-and-save.ts)

export const cannotCopy = 'This browser does not let the page copy. Select the text and copy it by hand.'

// Journal (journal-page.ts)

export const journal = 'Journal'
export const exactlyAt = 'Exactly at'
export const from = 'From'
export const journalOn = 'On'
export const detail = 'Detail'
export const filterByWhoDid = 'Filter by who did it'
export const who = 'Who'
export const allAre = ', all there are'
export const journalIsBeingSaved = 'The whole journal is being saved, one JSON object a line.'
export const journalCouldNotBeRead = 'The journal could not be read'
export const askingForJournal = 'Asking for the journal'
export const newestEntries = (PAGE: number) => `The newest ${PAGE} entries.`
export const nothingYet = 'Nothing yet'
export const journalFills = 'Every change, and everything sent to a line, appears here.'
export const nothingMatches = (filter: string) => `Nothing matches ${filter}`
export const howToFilter = 'Search for acts such as port set up, or for people and keys by name.'

// Keys (keys.ts)

export const everywhere = 'Everywhere'
export const showsTheseKeys = 'shows these keys'
export const filter = 'filter'

// Licences (licence-panel.ts)

export const licencesAre = 'The packages that this software is made of, and the terms under which each may be used.'
export const askingLicences = 'Asking for the licences'
export const licencesNotRead = 'The licences could not be read'
export const licenceOf = (licence: string, name: string) => `${licence}, the licence of ${name}`

// Meters (mixer.ts)

export const left = 'Left'
export const right = 'Right'
export const clip = 'clip'
export const silent = 'silent'

// Lamps (parts.ts)

export const good = 'Good'
export const busy = 'Busy'
export const warning = 'Warning'
export const fault = 'Fault'
export const off = 'Off'
export const muted = 'Muted'
export const absent = 'Absent'

// Concurrent saves (revision.ts)

export const removedMeanwhile =
  'Somebody else removed this in the meantime. Nothing was saved; what you typed is still here.'
export const changedMeanwhile =
  'Somebody else has changed this since you opened it. Nothing was saved; what you typed is still here. Save again to replace theirs, or open this page again to see it.'

// Signing in (sign-in.ts)

export const userName = 'User name'
export const password = 'Password'
export const sessionEnded = 'Twelve hours without use, or a restart, ended the session.'

// The first administrator (first-administrator.ts)

export const showPassword = 'Show password'
export const atLeastCharacters = (least: number) => `At least ${least} characters.`
export const enterAUserName = 'Enter a user name.'
export const passwordIsShort = (length: number, least: number) =>
  length === 0
    ? `Enter a password of at least ${least} characters.`
    : `The password has ${counted(length, 'character')}, at least ${least} are needed.`

// Today (today-page.ts)

export const place = 'Where'
export const filterByPlace = 'Filter by where it was'
export const ledgerCouldNotBeRead = 'The record of the day could not be read'
export const askingForLedger = 'Asking for the record of the day'
export const nothingIsWrong = 'Nothing is wrong now.'
export const lastEnded = (ago: string) => `The last one ended ${ago} ago.`
export const allSeen = 'Somebody has seen all of it.'
export const keptFrom = (date: string) => `Kept since ${date}.`
export const nothingSince = (instant: string) => `Nothing happened since ${instant}`
export const ledgerFills = 'Lines lost, devices offline and the like appear here by themselves, and stay when they end.'
export const howToFilterPlaces = 'Search for a line, a unit, a device or a file by part of its name.'
export const severityWords = { fault: 'Fault', warning: 'Warning', notice: 'Notice' } as const
export const over = (word: string) => `${word}, over`
export const times = (count: number) => `${count} times`
export const soFar = (lasted: string) => `${lasted} so far`
export const untilRestart = (lasted: string) => `${lasted}, until the restart`
export const acknowledgeWhat = (sentence: string) => `Acknowledge: ${sentence}`
export const lasting = (faults: number, warnings: number, notices: number) => {
  const parts = [
    [faults, 'fault'],
    [warnings, 'warning'],
    [notices, 'notice'],
  ] as const
  const named = parts.filter(([many]) => many > 0).map(([many, word]) => `${many} ${word}${many === 1 ? '' : 's'}`)
  const list = named.length > 1 ? `${named.slice(0, -1).join(', ')} and ${named.at(-1)}` : (named[0] ?? '')
  return `${list} now.`
}

// Filters (tools.ts)

export const toolsFilter = 'Filter'
