/** The program that keeps a board's USB device attached on a Windows host, by usbip-win2. */
import { WINDOWS_HOST_CLIENT } from './windows-host-client.ts'

const BEGINNING = `Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

# Seconds: for one answer of the board, between two looks, between two lists of what there is, from the first attempt to
# the longest pause between two, for a device to come up, for a first attachment after an installation.
$AnswerSeconds = 20
$LookSeconds = 5
$ListSeconds = 15
$FirstPauseSeconds = 2
$LongestPauseSeconds = 60
$ComeUpSeconds = 15
$SettleSeconds = 45
# Bytes of the log before it is begun anew.
$MostLogBytes = 1048576

# Below the programs, because only administrators may write there: what it holds is run by the system.
$Folder = Join-Path $env:ProgramFiles (Join-Path 'Plantroom' $PartsName)
$Installed = Join-Path $Folder 'usbip.ps1'
$ChosenFile = Join-Path $Folder 'device.txt'
$LogFile = Join-Path $Folder 'usbip.log'

function Show-Usage {
  @'
Uses the USB device of a Plantroom board on this machine.

  usbip.ps1 [install]    installs the USB/IP client (usbip-win2), attaches the device, and keeps it attached: after a
                         drop, after a restart of the board, after a restart of this machine
  usbip.ps1 attach       attaches it again after a detach
  usbip.ps1 detach       lets go of it until attach, or until this machine is restarted
  usbip.ps1 status       says whether it is attached; ends with 0 if so, else with 1
  usbip.ps1 remove       lets go of it and removes what install has set up; the client stays installed

  -Device WHICH   one device of those that the board shares: vid:pid, vid:pid:serial, or its place there (1-1.4)
  -Help           this text
'@ | Out-Host
  Say ('The board: {0}, USB/IP port {1}. Device: {2}.' -f $BoardHost, $BoardPort, $Wanted.Text)
}

function Say([string]$Text) {
  Out-Host -InputObject $Text
}

# In the log: one line for each change, however often it is tried.
$Last = @{ Said = '' }
function Say-Once([string]$Text) {
  if ($Last.Said -eq $Text) { return }
  $Last.Said = $Text
  Say $Text
  if ($Verb -ne 'keep') { return }
  $log = Get-Item -LiteralPath $LogFile -ErrorAction SilentlyContinue
  if ($log -and $log.Length -gt $MostLogBytes) { Remove-Item -LiteralPath $LogFile }
  Add-Content -LiteralPath $LogFile -Encoding UTF8 -Value ('{0:yyyy-MM-dd HH:mm:ss} {1}' -f (Get-Date), $Text)
}

function Assert-Administrator {
  $me = New-Object Security.Principal.WindowsPrincipal ([Security.Principal.WindowsIdentity]::GetCurrent())
  if (-not $me.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) {
    throw 'this is for an administrator: open PowerShell by "Run as administrator"'
  }
}

# What the words for a device mean: Id and Serial, or Place, or none of them for every device.
function Read-Wanted([string]$Text) {
  $wanted = @{ Text = $Text; Id = ''; Serial = ''; Place = '' }
  if ($Text -eq '') {
    $wanted.Text = 'every one that the board shares'
  } elseif ($Text -match '(?s)^([0-9a-fA-F]{4}:[0-9a-fA-F]{4})(?::(.+))?$') {
    $wanted.Id = $Matches[1].ToLowerInvariant()
    if ($Matches.ContainsKey(2)) { $wanted.Serial = $Matches[2] }
  } elseif ($Text -match '^[0-9]+-[0-9.]+$') {
    $wanted.Place = $Text
    $wanted.Text = 'the one at ' + $Text
  } else {
    throw ('there is no device "{0}": expected vid:pid, vid:pid:serial or a place (1-1.4)' -f $Text)
  }
  return $wanted
}

function Test-Wanted($Offer) {
  if ($Wanted.Id -ne '' -and $Wanted.Id -ne $Offer.Id) { return $false }
  if ($Wanted.Place -eq '') { return $true }
  return $Offer.Place -eq $Wanted.Place -or $Offer.Place.StartsWith($Wanted.Place + '.')
}
`

const WORDS = String.raw`# --- words

# Runs until its task is stopped.
function Invoke-Keep {
  Assert-Administrator
  $pause = $FirstPauseSeconds
  $sinceList = $ListSeconds
  $before = ''
  while ($true) {
    $wait = $LookSeconds
    try {
      $now = Get-AttachedText
      if ($now -ne $before) {
        if ($now -eq '') { Say-Once 'the device was dropped' }
        $sinceList = $ListSeconds
        $pause = $FirstPauseSeconds
      }
      # Asked while it is attached too: more may have come, and a dead connection is seen by the board alone.
      if ($now -eq '' -or $sinceList -ge $ListSeconds) {
        $sinceList = 0
        if (Add-Wanted) {
          $now = Get-AttachedText
        } else {
          $wait = $pause
          $pause = [Math]::Min($pause * 2, $LongestPauseSeconds)
        }
      }
      $before = $now
    } catch {
      Say-Once $_.Exception.Message
      $wait = $pause
      $pause = [Math]::Min($pause * 2, $LongestPauseSeconds)
    }
    $sinceList += $wait
    Start-Sleep -Seconds $wait
  }
}

function Invoke-Status {
  Say ('board: {0}, USB/IP port {1}; device: {2}' -f $BoardHost, $BoardPort, $Wanted.Text)
  $task = Get-ScheduledTask -TaskName $PartsName -ErrorAction SilentlyContinue
  if ($task) { Say ('kept attached: {0}' -f $task.State) } else { Say 'kept attached: no, install has not been run' }
  $now = @(Get-Attached)
  foreach ($one in $now) { Say ('attached: {0} of the board is at port {1} here' -f $one.Place, $one.Port) }
  if ($now.Count -eq 0) {
    Say 'attached: nothing'
    return 1
  }
  return 0
}

function Wait-Attached {
  $end = (Get-Date).AddSeconds($SettleSeconds)
  while (@(Get-Attached).Count -eq 0) {
    if ((Get-Date) -gt $end) {
      Say ('nothing is attached yet; it will be as soon as the board gives it. See: {0}' -f $LogFile)
      return 0
    }
    Start-Sleep -Seconds 1
  }
  return Invoke-Status
}

function Register-Keeper {
  $words = '-NoProfile -NonInteractive -ExecutionPolicy Bypass -File "{0}" keep' -f $Installed
  $shell = Join-Path $env:SystemRoot 'System32\WindowsPowerShell\v1.0\powershell.exe'
  $action = New-ScheduledTaskAction -Execute $shell -Argument $words
  $trigger = New-ScheduledTaskTrigger -AtStartup
  $principal = New-ScheduledTaskPrincipal -UserId 'S-1-5-18' -LogonType ServiceAccount -RunLevel Highest
  # Without a limit of time, also on batteries, and started again after a fault.
  $settings = New-ScheduledTaskSettingsSet -ExecutionTimeLimit ([TimeSpan]::Zero) -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries -MultipleInstances IgnoreNew -RestartCount 999 -RestartInterval ([TimeSpan]::FromMinutes(1))
  $null = Register-ScheduledTask -TaskName $PartsName -Action $action -Trigger $trigger -Principal $principal -Settings $settings -Description 'Keeps the USB device of a Plantroom board attached.' -Force
}

function Invoke-Install {
  Assert-Administrator
  $isFresh = Install-Client
  $null = New-Item -ItemType Directory -Force -Path $Folder
  Set-Content -LiteralPath $ChosenFile -Encoding UTF8 -Value $Chosen
  # The block that this is part of, as it stands: its values are in it, quoted as they were.
  $text = $PlantroomWords, ('$Plantroom = {' + $Plantroom.ToString() + '}'), $PlantroomStart -join [Environment]::NewLine
  Set-Content -LiteralPath $Installed -Encoding ASCII -Value $text
  Stop-ScheduledTask -TaskName $PartsName -ErrorAction SilentlyContinue
  Register-Keeper
  Start-ScheduledTask -TaskName $PartsName
  if ($isFresh) { Say 'the client was installed: where nothing is attached after a minute, restart Windows once' }
  return Wait-Attached
}

function Invoke-Attach {
  Assert-Administrator
  $null = Find-Client
  if (Get-ScheduledTask -TaskName $PartsName -ErrorAction SilentlyContinue) {
    Start-ScheduledTask -TaskName $PartsName
    return Wait-Attached
  }
  if (-not (Add-Wanted)) { return 1 }
  Say 'attached until it is dropped: install keeps it attached'
  return 0
}

function Invoke-Detach {
  Assert-Administrator
  Stop-ScheduledTask -TaskName $PartsName -ErrorAction SilentlyContinue
  # The driver tries again by itself after a drop: that ends too.
  $null = Invoke-Client @('attach', '--stop-all')
  foreach ($one in @(Get-Attached)) { $null = Invoke-Client @('detach', '--port', $one.Port) }
  Say 'nothing of this board is attached'
  return 0
}

function Invoke-Remove {
  $null = Invoke-Detach
  Unregister-ScheduledTask -TaskName $PartsName -Confirm:$false -ErrorAction SilentlyContinue
  if (Test-Path -LiteralPath $Folder) { Remove-Item -LiteralPath $Folder -Recurse -Force }
  Say 'removed; the client stays installed: Settings, Apps, USBip'
  return 0
}

try {
  # -Device counts, then what install was told, then what the board has said.
  $Chosen = $BoardDevice
  if ($Device -ne '') {
    $Chosen = $Device
  } elseif ($Verb -ne 'install' -and (Test-Path -LiteralPath $ChosenFile)) {
    $Chosen = ([string](Get-Content -LiteralPath $ChosenFile -Raw -Encoding UTF8)).TrimEnd()
  }
  $Wanted = Read-Wanted $Chosen
  # Both become words of a command line: nothing in them may mean anything there.
  if ($BoardHost -notmatch '^[A-Za-z0-9][A-Za-z0-9.:%_-]*$') { throw 'the name of the board is none that can be asked' }
  if ($Help -or @('help', '--help', '-h', '/?') -contains $Verb) {
    Show-Usage
    return 0
  }
  switch ($Verb) {
    'install' { return Invoke-Install }
    'attach' { return Invoke-Attach }
    'detach' { return Invoke-Detach }
    'status' { return Invoke-Status }
    'remove' { return Invoke-Remove }
    'keep' { return Invoke-Keep }
    default { throw ('"{0}" is not understood; see -Help' -f $Verb) }
  }
} catch {
  [Console]::Error.WriteLine('usbip.ps1: ' + $_.Exception.Message)
  return 1
}`

/**
 * A PowerShell program without a value in it; those stand in front (windows-host-script.ts): BoardHost, BoardPort,
 * BoardDevice, PartsName. No backtick and no braces around names: it stands in templates.
 */
export const WINDOWS_HOST_TOOL = [BEGINNING, WINDOWS_HOST_CLIENT, WORDS].join('\n')
