"""Whether a prompt has a subject, or only tells an agent to go on: `thanks, go on`, `show me the diff`."""

from __future__ import annotations

from collections.abc import Mapping

from qmd.text import tokens
from qmd.text.languages import languages_of_word
from qmd.text.query import ENGLISH_STOP_WORDS
from qmd.text.regex import lazy

#: Words that praise, agree or tell to go on, and what an agent has at hand: they are no subject of a note.
_WORDS: Mapping[str, str] = {
    "en": """
        thanks thank thx cheers ok okay yes yep yeah yup no nope nah please sure right fine good great nice
        cool perfect awesome excellent amazing wonderful lovely correct exactly agreed done ready well
        better best now then next again still already later soon first last one two both another else
        instead maybe hi hello hey bye sorry oops hmm wow lgtm btw go going continue proceed carry keep stop
        wait hold start begin resume retry try tries undo redo revert finish skip move back ahead forward
        look looks looking see show shows tell give let lets make makes get put take want wants like likes
        need needs think know mean means say says said sound sounds seem seems work works working feel happy
        help do it's that's i'm you're let's don't explain describe thing things stuff way time part rest
        everything something anything nothing second third yet
        moment minute quite shorter longer simpler far long little bit much lot new old same other others
    """,
    "de": """
        danke dankeschön bitte ok okay ja nein gut super prima toll perfekt genau richtig stimmt klar gerne
        fertig weiter weitermachen mach mache machen los halt stopp warte warten nochmal noch mal jetzt dann
        nächste nächsten nächster zeig zeige zeigen sieht aus passt sag sage gib schau mir den das
        änderungen änderung ausgabe fehler tests datei dateien hallo
    """,
    "fr": """
        merci oui non parfait parfaite comme ok okay bien super génial exactement accord c d s l
        continue continuez continuer vas-y vas va allez arrête attends encore maintenant suivant suivante
        montre montrez montre-moi moi dis donne regarde ça cela semble bon bonne fait faites diff
        erreur erreurs fichier fichiers bonjour salut plaît
    """,
    "es": """
        gracias sí si no vale ok okay bien bueno buena genial perfecto exacto exactamente claro adelante
        continúa continua continuar sigue así seguir para espera otra vez ahora siguiente muestra muéstrame
        dime dame mira parece hazlo haz listo hecho cambios cambio error errores archivo archivos hola favor
    """,
    "it": """
        grazie sì si no così ok okay bene buono ottimo perfetto esatto certo avanti continua continuare vai
        fermati aspetta ancora ora adesso prossimo mostra mostrami dimmi dammi guarda sembra fallo fai fatto
        modifiche errore errori file ciao favore prego
    """,
    "pt": """
        obrigado obrigada ficou muito sim não ok okay bem bom boa ótimo perfeito exato certo continue continua
        continuar segue siga pare espere novamente agora próximo mostre mostra mostre-me diga veja
        parece faça feito mudanças alterações erro erros arquivo arquivos olá favor
    """,
    "nl": """
        dank bedankt dankje ja nee ok okay goed prima mooi perfect precies klopt ga door verder doorgaan
        stop wacht nog nu volgende toon laat zien zeg geef kijk ziet eruit doe gedaan klaar wijzigingen fout
        fouten bestand hallo alsjeblieft
    """,
    "ru": """
        спасибо да нет ок хорошо отлично супер прекрасно точно верно согласен ладно продолжай продолжайте
        продолжить дальше давай стоп подожди ещё еще раз теперь сейчас покажи скажи дай смотри выглядит
        сделай готово изменения ошибка ошибки файл файлы привет пожалуйста мне
    """,
}
#: What an agent has at hand: a subject only of a question, as in "how do I run the tests".
_AT_HAND = frozenset(
    """
    fix change changes changed update add remove delete rename run rerun test tests build commit commits
    push merge apply check review summarize summarise write rewrite clean refactor save open diff diffs
    patch output result results error errors log logs plan todo code file files line lines job work step
    steps
    """.split()
)
_ASKING = frozenset("how where when who which why".split())
_ALL = frozenset(tokens.fold(word) for words in _WORDS.values() for word in words.split())
#: The same in scripts without spaces, the longest first.
_UNSPACED = lazy(
    "|".join(
        sorted(
            """
            谢谢 謝謝 多谢 感谢 好的 好了 好吧 可以 可以了 行 行了 好 是的 是 对 對 对的 没错 没问题 沒問題
            不错 不錯 很好 太好了 完美 棒 赞 明白 明白了 收到 继续 繼續 接着 接著 下一步 下一个 开始 開始 停
            停止 等等 等一下 再试 再试一次 重试 再来 看起来 看起來 看上去 看看 看 给我 給我 让我 帮我 请 請
            显示 顯示 展示 差异 差異 改动 改動 修改 变更 结果 結果 输出 代码 文件 运行 测试 提交 一下 吧 了
            的 啊 呢 我 你 就 这样 這樣 做 去 来 改 再 现在 然后 都 很 还 也 一次 你好 ありがとう
            ありがとうございます はい いいえ いいね いいです 良い よし 大丈夫 続けて 続き ください 次 止めて
            待って もう一度 見せて 表示 して 差分 変更 結果 お願い お願いします です ます ね よ を の が は
            に 감사합니다 고마워 고마워요 네 예 아니요 좋아 좋아요 좋습니다 계속 계속해 계속해줘 다음 그만
            잠깐 다시 보여줘 보여 줘 해줘 주세요 해 변경 결과 를 을 이 가
            """.split(),
            key=len,
            reverse=True,
        )
    )
)


def has_subject(prompt: str) -> bool:
    """Tell whether a prompt has a word that notes may be about."""
    words = tokens.words(prompt)
    known = _ALL | ENGLISH_STOP_WORDS
    if _ASKING.isdisjoint(map(tokens.fold, words)):
        known |= _AT_HAND
    return any(
        _UNSPACED.sub("", word)
        if tokens.is_unspaced(word)
        else not (
            tokens.is_symbols(word) or (folded := tokens.fold(word)) in known or languages_of_word(folded)
        )
        for word in words
    )
