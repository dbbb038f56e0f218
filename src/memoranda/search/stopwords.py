"""Words that say little, left out of queries (never out of the index)."""

from __future__ import annotations

from collections.abc import Sequence


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LATIN: dict[str, frozenset[str]] = {
    name: _words(words)
    for name, words in {
        "english": """a about after again all also am an and any are as at be because been before being both but by
            can could did do does doing done during each ever for from get gets getting got had has have having he her
            here hers him his how i if in into is it its itself just let like many me mine more most much my myself no
            nor not of off on once only or other our ours out over own please should so some such tell than that the
            their theirs them then there these they this those through to too under until up us very was we were what
            when where whether which while who whom whose why will with would you your yours s t d ll m re ve don didn
            doesn isn wasn aren weren won wouldn couldn shouldn hasn haven""",
        "german": """aber als am an auch auf aus bei bin bis da damit das dass dem den der des die dies diese dieser
            doch du durch ein eine einem einen einer eines er es für hat hatte hatten ich ihr ihre im in ist ja kann
            mein meine mich mir mit nach nicht noch nur oder sein seine sich sie sind so über um und uns unter vom von
            vor wann war waren warum was wem wen wer werden wie wir wird wo zu zum zur""",
        "french": """a à ai au aux avec ce ces cette comment dans de des du elle elles en est et eu il ils je la
            le les leur lui ma mais me mes moi mon ne nos notre nous on ont ou où par pas pour pourquoi qu quand que
            quel quelle quels qui quoi sa se ses son sont sur ta te tes toi ton tu un une vos votre vous""",
        "spanish": """a al como cómo con cuál cuando cuándo de del donde dónde el ella ellos en es esa ese eso esta
            este esto está fue ha han la las le les lo los más me mi mis muy no nos o para pero por porque que qué
            quien quién se ser si sin sobre son su sus también te tu un una unas unos y ya yo""",
        "italian": """a ad ai al alla alle anche che chi ci come con cosa da dal dalla dei del della delle di dove e è
            gli ha hanno ho i il in io la le lo ma mi mia mio ne nel nella non o per perché più quale quando quanto
            quello questa questo se sei si sono su sua suo ti tra tu un una uno""",
        "portuguese": """a ao aos as como com da das de do dos e é ela ele em essa esse esta este eu foi isso isto já
            lhe mais mas me meu minha na não nas no nos o onde os ou para pela pelo por porque qual quando que quem
            se ser seu sua são também te tem um uma você""",
        "dutch": """aan als bij dan dat de der deze die dit door een en er had heb heeft hem het hij hoe ik in is je
            kan maar me met mij mijn naar niet nog nu of om ons ook op over te tot u uit van voor waar waarom wanneer
            was wat we wel wie wij zij zijn zo""",
        "turkish": """ama bana ben bir biz bu da daha de diye en gibi hangi her için ile kim mi mu mü nasıl ne neden
            nerede o onu ve veya ya""",
        "vietnamese": """ai bao bị các cái cho có của đã đang để đó được gì khi là mà một này nào những nó ở rằng sẽ
            tại thì và vào với""",
    }.items()
}
_OTHER_SCRIPTS = _words(
    """а без был была были было быть в вам вас во все вы где да для до его ее её если есть еще ещё же за и из или им их
    к как какая какие какой когда кто ли меня мне мой моя мы на над не него нее нет ни но о об он она они оно от по под
    почему при про с сколько со так также там то того тоже только ты у уже чего чем что чтобы эта эти это этот я
    і й та що як де це або не є чи він вона вони ми ви
    αν από για δεν εγώ είναι εμείς ένα ένας εσύ ή η θα και κι με μη μια μου να ο οι όταν ότι ποιος που πού πως πώς σας
    σε στα στη στην στις στο στον σου τα τη την της τι τις το τον του τους των ως
    أن إلى إن أنا أنت أو أي أين التي الذي الى ان او ثم على عن في قد كان كم كيف لا لم لماذا لن ما متى مع من هذا هذه هل
    هم هو هي و يا از است به با برای را که در این آن چه کی کجا
    אבל או אותו אותה אחרי אין אם אני אנחנו את אתה אתם גם הוא היא היה היו הם זאת זה זו יש כי כמה כן כל לא לי למה לפני מה
    מי מתי על עם רק של שלי שלו שלה איך איפה
    और इस उस एक ऐसा कब कहाँ कहां का कि किस की कुछ के को कौन क्या क्यों कैसे जो तक तो था थी थे ने पर भी में मैं यह या ये
    वह वे से ही हूँ हूं है हैं हो"""
)


def drops(words: Sequence[str]) -> list[bool]:
    """For each lower case word of a query, whether it says little.

    The same letters may be a small word of one language and a great one of another (German "die", French "car"), so
    of the languages in Latin letters only that is asked whose small words are the most in this query.

    Example:
        >>> drops(["who", "will", "die"]), drops(["wer", "ist", "die", "frau"])
        ([True, True, False], [True, True, True, False])
    """
    language = max(_LATIN.values(), key=lambda small: sum(word in small for word in words))
    return [word in language or word in _OTHER_SCRIPTS for word in words]


QUESTIONS = tuple(
    sorted(
        _words(
            """为什么 什么 怎么 怎样 哪里 哪儿 哪个 哪些 哪位 哪种 多少 是否 如何 请问 告诉 可以 一下 关于 吗 呢 吧
            什么时候 时候 哪一个 哪一种 哪一位 几个 几点 几号 多大 多久 多长 多高 多远 怎么样 叫什么 谁 啥 咋 来着 分别
            到底 另外 其中 什麼時候 時候 哪一個 哪一種 幾個 幾點 幾號 多長 多遠 怎麼樣 誰 來著 分別
            為什麼 什麼 怎麼 哪裡 哪個 何時 何处 關於 嗎
            ですか ますか でしょうか ください どこ いつ だれ なぜ どう どの どれ なに
            무엇 어디 언제 누가 누구 어떻게 왜"""
        )
    )
)
"""Words of a question in scripts without spaces: their bigrams say little."""

SMALL_CHARACTERS = frozenset(
    "的了是在我你他她它们們這这那和与與就也都还還很吗呢吧啊个個一不有说說被把给給对對到从從着著其该該之于於以及或而且但谁誰哪几幾啥"
)
"""Chinese characters that serve grammar more often than meaning."""
