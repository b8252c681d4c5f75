/** Manages the discovery files and environment variables of all profiles together. */
import { isAbsolute } from "node:path";
import type { Log } from "../base/log.ts";
import type { Profile } from "../profiles/profiles.ts";
import { type Announcement, discoveryVariables } from "./content.ts";
import { createDiscovery, type Discovery } from "./keep-file.ts";
import { DiscoveryError } from "./private-directory.ts";
import { canBeJoined } from "./workspace.ts";

export interface Announcements extends Omit<Discovery, "path"> {
  /** Absolute paths of the discovery files. */
  readonly paths: string[];
  /**
   * Returns the environment for CLIs in this editor. `set`: variables by which the CLIs find this editor. `unset`:
   * names of variables that would lead the CLIs to another editor.
   */
  variables(open: readonly string[]): { set: Record<string, string>; unset: string[] };
}

interface AnnouncementsOptions {
  profiles: readonly Profile[];
  /** Returns the data for the discovery file of a profile. */
  announcement: (profile: Profile) => Announcement;
  log: Log;
  /** Called when a discovery file cannot be written. The CLIs of the other files still find this editor. */
  failed: (profile: Profile, error: DiscoveryError) => void;
}

/** Creates the discovery files of all profiles. */
export function createAnnouncements(options: AnnouncementsOptions): Announcements {
  const { log, failed } = options;
  const taken = new Set<string>();
  const announced = options.profiles.map((profile) => ({
    profile,
    announcement: options.announcement(profile),
  }));
  const all = announced.flatMap(({ profile, announcement }) => {
    const discovery = createDiscovery({ profile, announcement, report: log.warn });
    // Profiles with the same path share one file: the file of the first profile serves the CLIs of all of them.
    if (taken.has(discovery.path)) return [];
    taken.add(discovery.path);
    return [{ profile, announcement, discovery }];
  });
  // A plain discovery file cannot list a directory whose name contains the platform's path separator.
  const listed = ({ content }: Profile, workspace: readonly string[]) =>
    content === "plain" ? workspace.filter(canBeJoined) : workspace;

  function each(run: (one: (typeof all)[number]) => void): void {
    for (const one of all) {
      try {
        run(one);
      } catch (error) {
        if (!(error instanceof DiscoveryError)) throw error;
        failed(one.profile, error);
      }
    }
  }

  return {
    // Leaves out relative paths, because `publish` refuses them. A path is relative if it begins with a variable whose
    // value is relative.
    paths: all.map(({ discovery }) => discovery.path).filter(isAbsolute),
    publish: (workspace) => each(({ profile, discovery }) => discovery.publish(listed(profile, workspace))),
    restore: () => each(({ discovery }) => discovery.restore()),
    refresh() {
      for (const { discovery } of all) discovery.refresh();
    },
    remove() {
      for (const { discovery } of all) discovery.remove();
    },
    variables(open) {
      const set = announced.map(({ profile, announcement }) =>
        discoveryVariables(profile, announcement, listed(profile, open)),
      );
      return {
        // If two profiles use the same variable, the first profile wins.
        set: Object.assign({}, ...set.reverse()),
        unset: announced.flatMap(({ profile: { env, blank } }) => blank.map((name) => env + name)),
      };
    },
  };
}
